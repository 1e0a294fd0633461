// SPDX-License-Identifier: BSD-3-Clause
// State of the supervisor rgpud, shared by its parts. One thread with an event loop runs everything
// except writes to disk (state_saver.c) and closes that may block (common/service/helper.h); that
// thread never blocks. A part that changes something calls box_changed() instead of other parts;
// lifecycle.c then reviews all parts.
#ifndef RGPU_DAEMON_BOX_H
#define RGPU_DAEMON_BOX_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/net/control.h"
#include "common/service/metrics.h"
#include "common/security/ticket.h"
#include "daemon/rgpud/box/devices.h"
#include "daemon/rgpud/box/box_settings.h"
#include "daemon/rgpud/box/failed_sessions.h"
#include "daemon/rgpud/box/lease_turns.h"
#include "daemon/rgpud/box/programs.h"

struct client;
struct worker_process;

enum box_state {
    BOX_STARTING, // no worker has reported the devices yet
    BOX_SERVING,
    BOX_DRAINING, // no new sessions, until an administrator undrains the box
    BOX_LEAVING,  // no new sessions; the daemon exits after the last one
    BOX_STOPPING, // all workers are being ended
};

TAILQ_HEAD(worker_list, worker_process);
TAILQ_HEAD(client_list, client);
TAILQ_HEAD(account_list, account);
TAILQ_HEAD(export_list, exported_memory);
TAILQ_HEAD(gpu_time_list, gpu_time);
TAILQ_HEAD(suspension_list, suspension);
TAILQ_HEAD(vm_window_list, vm_attached);
TAILQ_HEAD(tenant_list, tenant);
TAILQ_HEAD(quota_request_list, quota_request);

struct box {
    struct event_base *base;
    struct event *changed; // pending after box_changed()
    struct box_settings settings;
    bool standalone;
    enum box_state state;
    char name[128];
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES];
    char worker_path[4096], driver_path[4096];
    bool has_client_sockets;   // the directory `client_sockets` can be used
    int driver_fd;             // memory file that the workers of software GPUs share
    struct worker_users users; // zeros: workers run as the user of rgpu-spawner
    uid_t next_user;
    struct spawner_client *spawner;

    struct device_choice choice;
    struct instances *instances; // MIG instances, as found at start
    struct box_device *devices;
    uint32_t device_count;
    struct warm_pool probe; // pool of the first worker, which reports the devices
    bool devices_known;
    // The memory in use before the first worker is unknown, so no worker may start.
    bool awaits_monitor;
    unsigned description; // increases when the description for the broker changes

    struct worker_list workers;
    struct client_list clients;
    struct account_list accounts;   // one for each lease with sessions
    struct vm_window_list windows;  // windows of virtual machines of this host
    struct export_list exports;     // memory that processes of a lease share
    struct limits *limits;          // limits on resources of the box other than GPUs
    struct gpu_time_list gpu_times; // GPU time of leases
    uint64_t gpu_time_counts;       // number of entries ever created
    int64_t shares_ms;              // time when time shares were last settled; 0: never
    uint64_t network_bandwidth;     // bytes per second of the network card; 0: unknown
    uint64_t network_ns;            // time of the last turn of network_shares.c
    unsigned network_pause_ms;      // until the next turn
    struct event *network_turn;     // pending while leases share the card
    struct suspension_list suspensions;
    struct lease_places *places; // GPUs of leases that were moved
    uint32_t pauses;             // number of the last pause
    unsigned suspension_changes;
    struct failed_sessions failed;
    unsigned faults; // counts faults that drain a GPU, of which the broker is informed at once
    struct tenant_list tenants; // leases that take turns on GPUs (overcommit.c)
    struct quota_request_list quota_requests;
    struct event *idle_tick;
    // clients that are not authenticated yet, or are refused and not closed yet
    unsigned handshakes;
    uint64_t next_session;
    struct lease_turns lease_turns;
    unsigned session_count;
    uint64_t sessions_total;
    struct histogram session_starts; // seconds from handshake to worker

    struct ticket_keyring keys; // empty if clients need no tickets
    struct listeners *listeners;
    struct admin *admin;
    struct askers *exporter;                // NULL: no exporter
    struct monitor_answers library_answers; // answers that concern no single GPU
    // CUDA version of the driver, as workers report it; 0: unknown
    uint32_t cuda_version;
    // NULL: accounts are not compared with the driver's figures
    struct monitor *monitor;
    int64_t figures_ms; // time of the GPU monitor's last report
    // limits the wait of clients for a glance (monitor.h); NULL: not created yet
    struct event *glance_timeout;
    bool monitor_slow; // the last glance timed out: queries do not wait until the next report
    struct broker_agent *agent; // NULL: there is no broker
    int exit_status;
    bool hands_over;  // the sessions go on with the next rgpud
    bool other_build; // a worker has exited because it is of another build than rgpud
};

const char *box_state_name(enum box_state state);
// Returns true if clients may begin or wait for sessions.
bool box_accepts_sessions(const struct box *box);
// Schedules a review of the box after a change: for example a worker is ready, a client waits, or
// the devices are known. It runs once, after the current event and before the next one.
void box_changed(struct box *box);

// Returns the driver's number of the first worker's device: the first chosen GPU that is not an
// instance.
uint32_t box_first_ordinal(const struct box *box);
// Fills box->devices from the first worker's list; READY is NULL if the box offers instances only.
// Returns -ENODEV after logging if a chosen device does not exist.
int box_adopt_inventory(struct box *box, const struct control_ready *ready)
    __attribute__((warn_unused_result));
// Returns true if clients without a ticket get this device. They get all GPUs that are not divided
// or, if there are none, the first instance.
bool box_device_is_open(const struct box *box, uint32_t index);
// Returns the set of all devices that clients without a ticket get.
device_set box_device_set_all(const struct box *box);
// Returns the set of devices that most clients with this first device get. Workers are started
// ahead for this set.
device_set box_device_set_usual(const struct box *box, const struct box_device *device);

#endif

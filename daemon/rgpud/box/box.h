// SPDX-License-Identifier: BSD-3-Clause
// Declares the supervisor's state, which its parts share. One thread with one event loop runs
// everything but the writing of state (state_saver.c) and closes that may block
// (common/service/helper.h); nothing in that thread blocks. A part that changes something calls
// box_changed() instead of other parts. lifecycle.c then reviews all of them.
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
#include "daemon/rgpud/box/lease_turns.h"
#include "daemon/rgpud/box/programs.h"

struct client;
struct worker_process;

enum box_state {
    BOX_STARTING, // no worker has reported the devices yet
    BOX_SERVING,
    BOX_DRAINING, // no new sessions until undrained
    BOX_LEAVING,  // no new sessions; the daemon exits after the last one
    BOX_STOPPING, // workers are ending
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
    bool has_client_sockets;   // the directory of the setting client_sockets is usable
    int driver_fd;             // memory that the workers' software GPUs share
    struct worker_users users; // zeros: workers keep the user of rgpu-spawner
    uid_t next_user;
    struct spawner_client *spawner;

    struct device_choice choice;
    struct instances *instances; // of divided GPUs, as found at the start
    struct box_device *devices;
    uint32_t device_count;
    struct warm_pool probe; // pool of the first worker, before there are devices
    bool devices_known;
    // the memory in use before the first worker is not known yet; no worker starts
    bool awaits_monitor;
    unsigned description; // counter of changes to the description that the broker gets

    struct worker_list workers;
    struct client_list clients;
    struct account_list accounts;   // of leases with sessions
    struct vm_window_list windows;  // into virtual machines of this host
    struct export_list exports;     // memory that processes of a lease share
    struct limits *limits;          // on box resources that clients take
    struct gpu_time_list gpu_times; // of leases
    uint64_t gpu_time_counts;       // number of GPU time entries so far
    int64_t shares_ms;              // time of the last settlement of time shares; 0: none yet
    struct suspension_list suspensions;
    struct lease_places *places; // of leases that were moved
    uint32_t pauses;             // number of the last pause
    unsigned suspension_changes;
    struct tenant_list tenants; // leases that take turns on GPUs (overcommit.c)
    struct quota_request_list quota_requests;
    struct event *idle_tick;
    unsigned handshakes; // clients that are not authenticated yet, or refused and not closed yet
    uint64_t next_session;
    struct lease_turns lease_turns;
    unsigned session_count;
    uint64_t sessions_total;
    struct histogram session_starts; // times from handshake to worker

    struct ticket_keyring keys; // empty if clients need no tickets
    struct listeners *listeners;
    struct admin *admin;
    struct askers *exporter;                // NULL: no exporter
    struct monitor_answers library_answers; // answers about no particular GPU
    uint32_t cuda_version;                  // of the driver, as workers report it; 0: not known yet
    struct monitor *monitor;                // GPU monitor; NULL: accounts are not audited
    int64_t figures_ms;                     // time of the monitor's last report
    struct event
        *glance_timeout; // timeout of a glance that clients wait for; NULL: not created yet
    bool monitor_slow;   // the last glance timed out; queries do not wait until the next report
    struct broker_agent *agent; // NULL: no broker is set
    int exit_status;
    bool other_build; // a worker has ended because rgpud and rgpu-worker are of different builds
};

const char *box_state_name(enum box_state state);
// Returns true if new sessions may begin or wait.
bool box_accepts_sessions(const struct box *box);
// Schedules a review of the box after a change, for example when a worker becomes ready, a client
// waits or the devices become known. The review runs once, directly after the current event and
// before any other.
void box_changed(struct box *box);

// Returns the ordinal of the first worker's device: the first chosen GPU that is not an instance.
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

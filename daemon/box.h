// SPDX-License-Identifier: BSD-3-Clause
// The supervisor's state, which its parts share. Everything but the writing of state (state_saver.c) and closes that may block (common/helper.h) runs in one thread on
// one event loop; nothing here blocks. The parts do not call each other when something has changed that others look at: they say so with
// box_changed(), and lifecycle.c then looks at all of it.
#ifndef RGPU_DAEMON_BOX_H
#define RGPU_DAEMON_BOX_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/control.h"
#include "common/metrics.h"
#include "common/ticket.h"
#include "daemon/devices.h"
#include "daemon/box_settings.h"
#include "daemon/lease_turns.h"
#include "daemon/programs.h"

struct client;
struct worker_process;

enum box_state {
    BOX_STARTING, // no worker has shown the devices yet
    BOX_SERVING,
    BOX_DRAINING, // no new sessions, until undrained
    BOX_LEAVING,  // no new sessions; exits with the last one
    BOX_STOPPING, // workers are being ended
};

TAILQ_HEAD(worker_list, worker_process);
TAILQ_HEAD(client_list, client);
TAILQ_HEAD(account_list, account);
TAILQ_HEAD(export_list, exported_memory);
TAILQ_HEAD(gpu_time_list, gpu_time);
TAILQ_HEAD(suspension_list, suspension);
TAILQ_HEAD(vm_window_list, vm_attached);
TAILQ_HEAD(tenant_list, tenant);
TAILQ_HEAD(room_ask_list, room_ask);

struct box {
    struct event_base *base;
    struct event *changed; // box_changed()
    struct box_settings settings;
    bool standalone;
    enum box_state state;
    char name[128];
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES];
    char worker_path[4096], driver_path[4096];
    bool has_client_sockets;   // the directory of that setting can be used
    int driver_fd;             // what the workers' software GPUs share
    struct worker_users users; // zeros: workers keep the user of rgpu-spawner
    uid_t next_user;
    struct spawner_client *spawner;

    struct device_choice choice;
    struct instances *instances; // of GPUs that are divided, as found at the start
    struct box_device *devices;
    uint32_t device_count;
    struct warm_pool probe; // the first worker's, before there are devices
    bool devices_known;
    bool awaits_gauge;    // no worker is started until it is known what was taken before
    unsigned description; // changes with what the broker is told of this box

    struct worker_list workers;
    struct client_list clients;
    struct account_list accounts;   // of leases that have sessions
    struct vm_window_list windows;  // into virtual machines of this host
    struct export_list exports;     // memory that processes of a lease share
    struct limits *limits;          // of what clients take of the box
    struct gpu_time_list gpu_times; // of leases
    uint64_t gpu_time_counts;       // that have been begun
    int64_t shares_ms;              // when shares of time were settled last; 0: not yet
    struct suspension_list suspensions;
    struct lease_places *places; // of leases that were moved
    struct kept_paths *kept_paths;
    uint32_t pauses; // numbers them
    unsigned suspension_changes;
    struct tenant_list tenants; // leases that take turns on GPUs (overcommit.c)
    struct room_ask_list room_asks;
    struct event *idle_tick;
    unsigned handshakes; // clients that are not yet authenticated, or refused and not yet closed
    uint64_t next_session;
    struct lease_turns lease_turns;
    unsigned session_count;
    uint64_t sessions_total;
    struct histogram session_starts; // from the handshake to a worker

    struct ticket_keyring keys; // none where tickets are not asked for
    struct listeners *listeners;
    struct admin *admin;
    struct askers *exporter;              // NULL where there is none
    struct gauge_answers library_answers; // about no GPU
    uint32_t cuda_version;                // of the driver, as workers say; 0: not known yet
    struct gauge *gauge;                  // NULL: accounts are not compared
    int64_t figures_ms;                   // when it told something last
    struct event
        *look_patience; // for what is asked of it for clients that look; NULL: none has yet
    bool gauge_slow;    // it did not tell in that time; looks do not wait until it tells something
    struct broker_agent *agent; // NULL where no broker is set
    int exit_status;
};

const char *box_state_name(enum box_state state);
bool box_accepts_sessions(const struct box *box);
// A worker has become ready or ended, a client waits, the devices became known: what follows is done right after
// the event that is being handled, and before any other, however often this is called.
void box_changed(struct box *box);

// The device of the first worker: the first that is chosen and that the driver shows by itself.
uint32_t box_first_ordinal(const struct box *box);
// Makes box->devices from a first worker's list (NULL: there are instances only). -ENODEV after logging: a chosen one is not there.
int box_adopt_inventory(struct box *box, const struct control_ready *ready)
    __attribute__((warn_unused_result));
// Those that a client without a ticket is granted: as the driver shows them, GPUs that are not divided, or where there are
// none, the first instance.
bool box_device_is_open(const struct box *box, uint32_t index);
device_set box_device_set_all(const struct box *box);
// What clients whose first device this is are expected to be granted, for workers that are started beforehand.
device_set box_device_set_usual(const struct box *box, const struct box_device *device);

#endif

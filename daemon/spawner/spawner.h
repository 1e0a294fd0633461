// SPDX-License-Identifier: BSD-3-Clause
// State of rgpu-spawner. kinds.c knows the kinds of processes, processes.c starts and ends them,
// main.c communicates with rgpud.
#ifndef RGPU_DAEMON_SPAWNER_SPAWNER_H
#define RGPU_DAEMON_SPAWNER_SPAWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "daemon/rgpud/box/devices.h"
#include "daemon/rgpud/box/programs.h"
#include "daemon/spawner/child_start.h"
#include "daemon/rgpud/box/spawner_orders.h"

// Descriptors that rgpud has stored; the spawner does not read them.
struct spawner_store {
    int fds[SPAWNER_STORE_MAX];
    size_t count;
};

// The same under one of rgpud's own numbers.
struct own_store {
    LIST_ENTRY(own_store) link;
    uint64_t number;
    struct spawner_store store;
};

struct spawned {
    TAILQ_ENTRY(spawned) link;
    uint64_t number; // number that rgpud has given to it
    enum spawner_kind kind;
    pid_t pid;
    uid_t user;
    int pidfd;
    bool ended; // an ended suspender, whose own child processes still exist; `status` is set
    int status;
    int kept[SPAWNER_KEPT]; // worker: rgpud's ends of its sockets and pipe; -1: closed
    struct spawner_store store;
};
TAILQ_HEAD(spawned_list, spawned);

enum { SPAWNER_CHAINS = 1024 };

struct spawner {
    struct box_settings settings;
    struct device_choice choice;
    struct worker_users users; // zeros: processes run as the spawner's user
    bool changes_users;
    char worker[4096], driver[4096], mps_supervisor[4096], suspender[4096], mps_control[4096];
    int driver_file;     // the driver library, if the setting is a path; else -1
    int cgroups;         // directory of cgroup_open(); -1: there are no cgroups
    bool cgroups_remain; // cgroups of ended processes must still be removed
    struct spawned_list processes;
    unsigned process_count;
    char *members[SPAWNER_MEMBERS_MAX]; // arguments of the next suspender, one for each worker
    size_t member_count;
    int listener;           // listening socket; -1: rgpud has started the spawner
    uid_t peer;             // user that may connect
    int connection;         // socket to rgpud; -1: none
    int64_t alone_since_ms; // time since when there is no rgpud
    bool gave_up;           // rgpud's ends of the workers' sockets are closed
    LIST_HEAD(, own_store) stores[SPAWNER_CHAINS]; // rgpud's own, by the last bits of their numbers
};

// ---- kinds.c ----

// Checks an order and fills in LAUNCH. *OUT_FD is a descriptor for rgpud besides the pidfd, or -1.
// Returns 0, or -errno after logging.
int kind_prepare(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                 size_t count, struct child_start_request *launch, int *out_fd)
    __attribute__((warn_unused_result));
// Adds a worker to those that the next suspender handles.
int kind_add_member(struct spawner *spawner, const struct spawned *process,
                    const struct spawner_order *order) __attribute__((warn_unused_result));
void kind_forget_member(struct spawner *spawner, pid_t pid);
void kind_forget_members(struct spawner *spawner);

// ---- processes.c ----

struct spawned *spawned_find(const struct spawner *spawner, uint64_t number);
// Starts the process of an order. The caller keeps FDS. *OUT_FD as for kind_prepare(); for a worker
// its directory in /proc. Returns 0 or -errno.
int spawned_start(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                  size_t count, struct spawned **out, int *out_fd)
    __attribute__((warn_unused_result));
// Opens the directory in /proc of a worker that has not been reaped. Returns -1 on failure.
int spawned_open_proc(pid_t pid);
void spawned_kill(const struct spawned *process);
void spawned_kill_all(const struct spawner *spawner);
// Replaces the descriptors in a store by copies of FDS. Returns 0 or -errno.
int spawner_store_set(struct spawner_store *store, const int *fds, size_t count)
    __attribute__((warn_unused_result));
// The same for one of rgpud's own numbers, of which nothing is left without descriptors.
int spawner_store_set_own(struct spawner *spawner, uint64_t number, const int *fds, size_t count)
    __attribute__((warn_unused_result));
void spawner_store_forget_own(struct spawner *spawner);
// Closes rgpud's ends of a worker's sockets, and what rgpud has stored for it.
void spawned_give_up(struct spawned *process);
// Reaps an ended process and removes it from the list. Returns NULL if there is none. The caller
// calls spawned_free().
struct spawned *spawned_reap(struct spawner *spawner, int *status);
void spawned_free(struct spawner *spawner, struct spawned *process);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The state of rgpu-spawner. kinds.c knows what each kind of process is, processes.c keeps them,
// main.c speaks with rgpud.
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

struct spawned {
    TAILQ_ENTRY(spawned) link;
    uint64_t number; // rgpud's
    enum spawner_kind kind;
    pid_t pid;
    uid_t user;
    int pidfd;
    bool ended; // a suspender, with STATUS; processes that it started are left
    int status;
    int kept[SPAWNER_KEPT]; // of a worker: rgpud's ends; -1: none any more
};
TAILQ_HEAD(spawned_list, spawned);

struct spawner {
    struct box_settings settings;
    struct device_choice choice;
    struct worker_users users; // zeros: processes keep this process's user
    bool changes_users;
    char worker[4096], driver[4096], mps_supervisor[4096], suspender[4096], mps_control[4096];
    int driver_file;     // the driver's library, if it is a path; -1: it is not
    int cgroups;         // -1: there are none
    bool cgroups_remain; // of processes that have ended
    struct spawned_list processes;
    unsigned process_count;
    char *members[SPAWNER_MEMBERS_MAX]; // arguments of the next suspender, each a worker
    size_t member_count;
    int listener;           // -1: rgpud has started us
    uid_t peer;             // who may connect
    int connection;         // to rgpud; -1: none
    int64_t alone_since_ms; // without rgpud
    bool gave_up;           // the descriptors that were kept are closed
};

// ---- kinds.c ----

// Checks the order and fills LAUNCH. *OUT_FD is a descriptor for rgpud beside the pidfd, or -1.
// -errno, with the reason in the log.
int kind_prepare(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                 size_t count, struct child_start_request *launch, int *out_fd)
    __attribute__((warn_unused_result));
// Adds a worker to those of the next suspender.
int kind_add_member(struct spawner *spawner, const struct spawned *process,
                    const struct spawner_order *order) __attribute__((warn_unused_result));
void kind_forget_member(struct spawner *spawner, pid_t pid);
void kind_forget_members(struct spawner *spawner);

// ---- processes.c ----

struct spawned *spawned_find(const struct spawner *spawner, uint64_t number);
// Starts what the order says; the descriptors stay the caller's. *OUT_FD as above, and of a worker
// its directory in /proc. -errno.
int spawned_start(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                  size_t count, struct spawned **out, int *out_fd)
    __attribute__((warn_unused_result));
void spawned_kill(const struct spawned *process);
void spawned_kill_all(const struct spawner *spawner);
// Closes the descriptors that were kept for another rgpud.
void spawned_give_up(struct spawned *process);
// Takes one process that has ended out of the list. NULL: there is none. The caller frees it by
// spawned_free().
struct spawned *spawned_reap(struct spawner *spawner, int *status);
void spawned_free(struct spawner *spawner, struct spawned *process);

#endif

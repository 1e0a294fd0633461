// SPDX-License-Identifier: BSD-3-Clause
// The session's communicators of the site's NCCL.
#ifndef RGPU_WORKER_SITE_COMMS_H
#define RGPU_WORKER_SITE_COMMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/collect/site_library.h"
#include "worker_driver.h"

struct site_comm {
    uint32_t number; // as the client has it
    int ranks, rank, device;
    CUcontext context;
    ncclUniqueId id;
    ncclComm_t comm;
    ncclResult_t result;
    char why[200];
    bool made, abandoned; // its thread is done; nobody waits for that any more
    unsigned users;       // who carries out something
    struct site_comm *next;
};

// Before requests are served.
void site_comms_prepare(void);
// Becomes a rank, with the others' help, in the context that is current on DEVICE. On failure WHY says what is wrong.
CUresult site_comm_make(uint32_t number, int ranks, int rank, const ncclUniqueId *id, int device,
                        CUcontext context, uint32_t timeout_ms, char *why, size_t room);
// NULL: there is none of that number. The caller uses it until it leaves.
struct site_comm *site_comm_enter(uint32_t number);
void site_comm_leave(struct site_comm *comm);
// Notes that an operation failed.
void site_comm_fail(struct site_comm *comm, ncclResult_t result);
// What has become of it.
ncclResult_t site_comm_ask(uint32_t number);
// ABORTS: what is on its way ends at once, without the others; else when it is done.
void site_comm_end(uint32_t number, bool aborts);
// Whether there is any: such a session cannot be suspended.
bool site_comms_any(void);

#endif

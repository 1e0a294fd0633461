// SPDX-License-Identifier: BSD-3-Clause
// Keeps the session's communicators of the site's NCCL.
#ifndef RGPU_WORKER_SITE_COMMS_H
#define RGPU_WORKER_SITE_COMMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/collect/site_library.h"
#include "worker_driver.h"

struct site_comm {
    uint32_t number; // the client's number
    int ranks, rank, device;
    CUcontext context;
    ncclUniqueId id;
    ncclComm_t comm;
    ncclResult_t result;
    char why[200];
    bool made, abandoned; // its thread is done; nothing waits for it any longer
    unsigned users;       // threads that carry out an operation
    struct site_comm *next;
};

// Call before requests are served.
void site_comms_prepare(void);
// Joins a communicator as a rank, together with the other ranks, in the context that is current on
// DEVICE. On failure WHY has the reason.
CUresult site_comm_make(uint32_t number, int ranks, int rank, const ncclUniqueId *id, int device,
                        CUcontext context, uint32_t timeout_ms, char *why, size_t room);
// Returns the communicator with that number; NULL: there is none. The caller uses it until
// site_comm_leave().
struct site_comm *site_comm_enter(uint32_t number);
void site_comm_leave(struct site_comm *comm);
// Notes that an operation failed.
void site_comm_fail(struct site_comm *comm, ncclResult_t result);
// Returns the state of the communicator.
ncclResult_t site_comm_ask(uint32_t number);
// Ends the communicator. ABORTS: pending operations end at once, without the other ranks; else
// after their completion.
void site_comm_end(uint32_t number, bool aborts);
// Returns true if a communicator exists: such a session cannot be suspended.
bool site_comms_any(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Communicators of the site's NCCL.
#ifndef RGPU_WORKER_SITE_COMMS_H
#define RGPU_WORKER_SITE_COMMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/collect/site_library.h"
#include "worker_driver.h"

struct site_comm {
    uint32_t number; // number that the client has chosen
    int ranks, rank, device;
    CUcontext context;
    ncclUniqueId id;
    ncclComm_t comm;
    ncclResult_t result;
    char why[200];
    bool made, abandoned; // its thread has ended; no request waits for it any more
    unsigned users;       // threads that execute an operation
    struct site_comm *next;
};

// Must be called before requests are served.
void site_comms_prepare(void);
// Creates a communicator together with the other ranks, in CONTEXT on DEVICE. On failure WHY
// receives the reason.
CUresult site_comm_make(uint32_t number, int ranks, int rank, const ncclUniqueId *id, int device,
                        CUcontext context, uint32_t timeout_ms, char *why, size_t room);
// Returns the communicator with this number, or NULL. The caller must call site_comm_leave().
struct site_comm *site_comm_enter(uint32_t number);
void site_comm_leave(struct site_comm *comm);
// Records that an operation has failed.
void site_comm_fail(struct site_comm *comm, ncclResult_t result);
// Returns NCCL's state of the communicator.
ncclResult_t site_comm_ask(uint32_t number);
// Destroys the communicator. ABORTS: stops pending operations; otherwise waits for them.
void site_comm_end(uint32_t number, bool aborts);
// Returns true if there is a communicator. The session cannot be suspended then.
bool site_comms_any(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The table rgpu_site_nccl_table of rgpu's libcuda.so.1. rgpu's libnccl looks it up by name, and
// runs communicators of the NCCL that is installed on the boxes. NVIDIA's libcuda.so.1 has no such
// table.
#ifndef RGPU_PROTO_SITE_NCCL_TABLE_H
#define RGPU_PROTO_SITE_NCCL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/nccl_abi.h"
#include "proto/wire.h"

// One operation of a communicator in CONTEXT. The caller fills in all but the stream in ASKED,
// which `run` sets from STREAM.
struct site_collective {
    CUcontext context;
    CUstream stream;
    struct wire_collective asked;
};

struct site_nccl_table {
    // Returns the version of NCCL on the box of CONTEXT, encoded as by ncclGetVersion; 0: it has
    // none.
    uint32_t (*offer)(CUcontext context);
    // Makes the id of a communicator, for all its ranks.
    CUresult (*make_id)(CUcontext context, ncclUniqueId *id);
    // Creates a communicator with the id of `make_id`, and waits TIMEOUT_MS milliseconds at most
    // until all ranks have joined. *COMM identifies it in this process. On failure WHY, which has
    // ROOM bytes, gets the reason.
    CUresult (*make)(CUcontext context, int ranks, int rank, const ncclUniqueId *id,
                     uint32_t timeout_ms, uint32_t *comm, char *why, size_t room);
    // Queues the COUNT operations of a group, each in its stream, and returns without waiting for
    // them. NOT_SUPPORTED: the group is too long, and nothing was queued.
    CUresult (*run)(struct site_collective *list, size_t count);
    // Returns the communicator's asynchronous error (ncclCommGetAsyncError).
    ncclResult_t (*ask)(CUcontext context, uint32_t comm);
    // Destroys the communicator, after waiting for its pending operations, or if ABORTS after
    // aborting them.
    void (*end)(CUcontext context, uint32_t comm, bool aborts);
};

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Functions of libcuda.so.1 for rgpu's libnccl, which looks up rgpu_site_nccl_table in it by name:
// communicators of the site's NCCL, inside the boxes. NVIDIA's library has no such table.
#ifndef RGPU_PROTO_SITE_NCCL_TABLE_H
#define RGPU_PROTO_SITE_NCCL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/nccl_abi.h"
#include "proto/wire.h"

// One operation of a communicator in CONTEXT. The stream in ASKED is filled in.
struct site_collective {
    CUcontext context;
    CUstream stream;
    struct wire_collective asked;
};

struct site_nccl_table {
    // The version that the box of CONTEXT has; 0: none.
    uint32_t (*offer)(CUcontext context);
    CUresult (*make_id)(CUcontext context, ncclUniqueId *id);
    // Waits until all ranks have joined. *COMM identifies the communicator in this process; on
    // failure WHY has the reason.
    CUresult (*make)(CUcontext context, int ranks, int rank, const ncclUniqueId *id,
                     uint32_t timeout_ms, uint32_t *comm, char *why, size_t room);
    // Runs a whole group, in the order of its streams, without waiting. NOT_SUPPORTED: the group is
    // too long, and nothing has been done.
    CUresult (*run)(struct site_collective *list, size_t count);
    ncclResult_t (*ask)(CUcontext context, uint32_t comm);
    // Waits for pending operations, or aborts them.
    void (*end)(CUcontext context, uint32_t comm, bool aborts);
};

#endif

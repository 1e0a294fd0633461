// SPDX-License-Identifier: BSD-3-Clause
// What libcuda.so.1 has for our libnccl, which finds rgpu_site_nccl_table by name in it: communicators of the site's NCCL, inside
// the boxes. NVIDIA's library has none.
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
    // Waits until all ranks have come. *COMM names it in this process; on failure WHY says what is wrong.
    CUresult (*make)(CUcontext context, int ranks, int rank, const ncclUniqueId *id,
                     uint32_t timeout_ms, uint32_t *comm, char *why, size_t room);
    // A whole group, in the order of its streams. Does not wait. NOT_SUPPORTED: it is too long, and nothing of it is done.
    CUresult (*run)(struct site_collective *list, size_t count);
    ncclResult_t (*ask)(CUcontext context, uint32_t comm);
    // Waits for what is on its way, or has it end at once.
    void (*end)(CUcontext context, uint32_t comm, bool aborts);
};

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The site's NCCL, which the administrator has named (`nccl`): NVIDIA's library, which finds the other boxes' workers over
// the network by itself and moves data between their GPUs.
#ifndef RGPU_WORKER_SITE_LIBRARY_H
#define RGPU_WORKER_SITE_LIBRARY_H

#include "proto/nccl_abi.h"

// The calls that are made of it, by name.
#define SITE_CALLS(call) \
    call(ncclGetVersion) call(ncclGetUniqueId) call(ncclCommInitRank) call(ncclCommDestroy) \
        call(ncclCommAbort) call(ncclCommGetAsyncError) call(ncclGetErrorString) \
            call(ncclGetLastError) call(ncclGroupStart) call(ncclGroupEnd) \
                call(ncclRedOpCreatePreMulSum) call(ncclRedOpDestroy) call(ncclAllReduce) \
                    call(ncclReduce) call(ncclBroadcast) call(ncclAllGather) \
                        call(ncclReduceScatter) call(ncclSend) call(ncclRecv)

struct site_library {
#define SITE_CALL(name) __typeof__(name) *name;
    SITE_CALLS(SITE_CALL)
#undef SITE_CALL
};
extern struct site_library site;

// Its version; 0: the box has none, or it does not load, which the log says. Any thread.
unsigned site_library_open(void);
// What is wrong, in its own words.
const char *site_problem(ncclResult_t result);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Loads the site's NCCL library (setting `nccl`). NVIDIA's library itself connects to the workers
// of other boxes over the network and moves data between their GPUs.
#ifndef RGPU_WORKER_SITE_LIBRARY_H
#define RGPU_WORKER_SITE_LIBRARY_H

#include "proto/nccl_abi.h"

// Functions of NCCL that the worker calls.
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

// Loads the library. Returns its version; 0 if there is none or it does not load, which is logged.
// Thread-safe.
unsigned site_library_open(void);
// Returns NCCL's text for a result.
const char *site_problem(ncclResult_t result);

#endif

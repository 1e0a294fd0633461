// SPDX-License-Identifier: BSD-3-Clause
// Values that streams write and wait for. Page-locked memory may be named by the program's address.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { OPERATIONS_MAX = 256 }; // of one call (proto/cuda.spec)

#define OF_ONE_VALUE(name, type) \
    CUresult name(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
    { \
        return remote_##name(stream, host_pointers_address(addr), value, flags); \
    } \
    CUresult name##_ptsz(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
    { \
        return remote_##name(stream_per_thread(stream), host_pointers_address(addr), value, \
                             flags); \
    }

OF_ONE_VALUE(cuStreamWaitValue32, cuuint32_t)
OF_ONE_VALUE(cuStreamWaitValue32_v2, cuuint32_t)
OF_ONE_VALUE(cuStreamWaitValue64, cuuint64_t)
OF_ONE_VALUE(cuStreamWaitValue64_v2, cuuint64_t)
OF_ONE_VALUE(cuStreamWriteValue32, cuuint32_t)
OF_ONE_VALUE(cuStreamWriteValue32_v2, cuuint32_t)
OF_ONE_VALUE(cuStreamWriteValue64, cuuint64_t)
OF_ONE_VALUE(cuStreamWriteValue64_v2, cuuint64_t)

static void translate(CUstreamBatchMemOpParams *operation)
{
    switch (operation->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        operation->waitValue.address = host_pointers_address(operation->waitValue.address);
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        operation->writeValue.address = host_pointers_address(operation->writeValue.address);
        break;
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: break;
    }
}

typedef CUresult (*batch_call)(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *operations, unsigned int flags);

static CUresult several(batch_call call, CUstream stream, unsigned int count,
                        const CUstreamBatchMemOpParams *operations, unsigned int flags)
{
    if (!operations || !count || count > OPERATIONS_MAX) // the request says what is wrong
        return call(stream, count, (CUstreamBatchMemOpParams *)operations, flags);
    SCOPED_FREE CUstreamBatchMemOpParams *own = malloc(count * sizeof(*own));
    if (!own)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(own, operations, count * sizeof(*own));
    for (unsigned int i = 0; i < count; i++)
        translate(&own[i]);
    return call(stream, count, own, flags);
}

#define OF_SEVERAL(name) \
    CUresult name(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, \
                  unsigned int flags) \
    { \
        return several(remote_##name, stream, count, operations, flags); \
    } \
    CUresult name##_ptsz(CUstream stream, unsigned int count, \
                         CUstreamBatchMemOpParams *operations, unsigned int flags) \
    { \
        return several(remote_##name, stream_per_thread(stream), count, operations, flags); \
    }

OF_SEVERAL(cuStreamBatchMemOp)
OF_SEVERAL(cuStreamBatchMemOp_v2)

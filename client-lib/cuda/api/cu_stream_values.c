// SPDX-License-Identifier: BSD-3-Clause
// Values that streams write and wait for. Page-locked memory may be named by the program's address.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "common/base/scope.h"

enum { OPERATIONS_MAX = 256 }; // of one call (proto/cuda.spec)

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

CUresult stream_values(stream_values_request request, CUstream stream, unsigned int count,
                       const CUstreamBatchMemOpParams *operations, unsigned int flags)
{
    if (!operations || !count || count > OPERATIONS_MAX) // the request says what is wrong
        return request(stream, count, (CUstreamBatchMemOpParams *)operations, flags);
    SCOPED_FREE CUstreamBatchMemOpParams *own = malloc(count * sizeof(*own));
    if (!own)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(own, operations, count * sizeof(*own));
    for (unsigned int i = 0; i < count; i++)
        translate(&own[i]);
    return request(stream, count, own, flags);
}

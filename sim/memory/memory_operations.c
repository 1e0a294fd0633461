// SPDX-License-Identifier: BSD-3-Clause
// Implements stream operations that write memory words or wait for them. The words lie in device
// memory or pinned host memory; the CPU, a kernel or another stream may change them.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/wait.h"
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"
#include "sim/engine/stream_work.h"

#define SPIN_TURNS 200
#define YIELD_TURNS 50
#define LONGEST_SLEEP_NS 500000u

struct word_operation {
    struct operation operation;
    unsigned count;
    CUstreamBatchMemOpParams items[];
};

static bool condition_holds(const CUstreamBatchMemOpParams *item)
{
    unsigned how = item->waitValue.flags & 3u;
    bool wide = item->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    void *address = (void *)(uintptr_t)item->waitValue.address;
    uint64_t wanted = wide ? item->waitValue.value64 : item->waitValue.value;
    uint64_t value = wide ? __atomic_load_n((uint64_t *)address, __ATOMIC_ACQUIRE)
                          : __atomic_load_n((uint32_t *)address, __ATOMIC_ACQUIRE);
    switch (how) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return wide ? (int64_t)(value - wanted) >= 0
                    : (int32_t)((uint32_t)value - (uint32_t)wanted) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return value == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (value & wanted) != 0;
    default: // CU_STREAM_WAIT_VALUE_NOR
        return wide ? ~(value | wanted) != 0 : (uint32_t) ~(value | wanted) != 0;
    }
}

// Polls the value, because changes send no notification: often at first, then ever less often.
static void wait_for_value(const CUstreamBatchMemOpParams *item, const struct context *context)
{
    unsigned turn = 0;
    uint32_t sleep_ns = 2000;
    while (!condition_holds(item)) {
        if (atomic_load(&context->cancel) || atomic_load(&context->fault))
            return;
        if (turn < SPIN_TURNS) {
            turn++;
            cpu_relax();
        } else if (turn < SPIN_TURNS + YIELD_TURNS) {
            turn++;
            sched_yield();
        } else {
            struct timespec pause = {.tv_nsec = sleep_ns};
            nanosleep(&pause, NULL);
            sleep_ns = sleep_ns < LONGEST_SLEEP_NS / 2 ? 2 * sleep_ns : LONGEST_SLEEP_NS;
        }
    }
}

static CUresult run_words(struct operation *operation, struct stream *stream)
{
    struct word_operation *words = (struct word_operation *)operation;
    for (unsigned i = 0; i < words->count; i++) {
        const CUstreamBatchMemOpParams *item = &words->items[i];
        void *address = (void *)(uintptr_t)item->writeValue.address;
        switch (item->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64: wait_for_value(item, stream->context); break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            __atomic_store_n((uint32_t *)address, item->writeValue.value, __ATOMIC_RELEASE);
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            __atomic_store_n((uint64_t *)address, item->writeValue.value64, __ATOMIC_RELEASE);
            break;
        case CU_STREAM_MEM_OP_BARRIER:
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: atomic_thread_fence(memory_order_seq_cst); break;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult check_word(const CUstreamBatchMemOpParams *item, size_t size)
{
    struct memory_range range;
    CUdeviceptr address = item->writeValue.address;
    SIM_RETURN_IF(address % size || !memory_lookup_span(address, size, &range),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult check_item(const CUstreamBatchMemOpParams *item)
{
    const unsigned wait_flags = 3u | CU_STREAM_WAIT_VALUE_FLUSH;
    switch (item->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        SIM_RETURN_IF(item->waitValue.flags & ~wait_flags, CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(item->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH, CUDA_ERROR_NOT_SUPPORTED);
        return check_word(item, item->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        // NVIDIA's driver also refuses the flag for no barrier in this form of the calls.
        SIM_RETURN_IF(item->writeValue.flags, CUDA_ERROR_INVALID_VALUE);
        return check_word(item, item->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8);
    case CU_STREAM_MEM_OP_BARRIER:
        SIM_RETURN_IF(item->memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU,
                      CUDA_ERROR_INVALID_VALUE);
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static bool is_wait(const CUstreamBatchMemOpParams *item)
{
    return item->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
           item->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

// The operation is brief (run by the caller) unless it would have to wait.
CUresult words_prepare(unsigned count, const CUstreamBatchMemOpParams *items, unsigned flags,
                       struct operation **out)
{
    SIM_RETURN_IF(flags || count > 256 || !count || !items, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++)
        SIM_TRY(check_item(&items[i]));
    struct word_operation *words =
        operation_create(sizeof(*words) + count * sizeof(*items), run_words, operation_free);
    SIM_RETURN_IF(!words, CUDA_ERROR_OUT_OF_MEMORY);
    words->count = count;
    memcpy(words->items, items, count * sizeof(*items));
    words->operation.brief = true;
    for (unsigned i = 0; i < count; i++)
        if (is_wait(&items[i]))
            words->operation.brief = false;
    *out = &words->operation;
    return CUDA_SUCCESS;
}

static CUresult memory_operations_capture(struct stream *stream, unsigned count,
                                          const CUstreamBatchMemOpParams *items, unsigned flags)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                   .memOp = {.ctx = object_handle(&stream->context->object),
                             .count = count,
                             .paramArray = (CUstreamBatchMemOpParams *)items,
                             .flags = flags}}};
    return capture_add(stream, &item);
}

static CUresult memory_operations_batch(CUstream handle, unsigned count,
                                        const CUstreamBatchMemOpParams *items, unsigned flags)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    struct operation *operation;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (capture_contains(stream)) {
        result = memory_operations_capture(stream, count, items, flags);
    } else if (!result && count) {
        result = words_prepare(count, items, flags, &operation);
        if (!result)
            result = stream_submit(stream, operation, NULL);
    }
    return result;
}

static CUresult wait_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags,
                           CUstreamBatchMemOpType type)
{
    CUstreamBatchMemOpParams item = {
        .waitValue = {.operation = type, .address = address, .value64 = value, .flags = flags}};
    return memory_operations_batch(stream, 1, &item, 0);
}

static CUresult memory_operations_write_value(CUstream stream, CUdeviceptr address, uint64_t value,
                                              unsigned flags, CUstreamBatchMemOpType type)
{
    CUstreamBatchMemOpParams item = {
        .writeValue = {.operation = type, .address = address, .value64 = value, .flags = flags}};
    return memory_operations_batch(stream, 1, &item, 0);
}

// Answers the first form of the calls, which needs a setting of the driver's kernel module that is
// off by default. Other errors come first.
static CUresult first_form(CUstream handle, unsigned count)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    return count > 256 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

#define WORD_CALLS(suffix, wait32, wait64, write32, write64, several) \
    SIM_CALL(cuStreamWaitValue32##suffix, \
             (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), wait32) \
    SIM_CALL(cuStreamWaitValue64##suffix, \
             (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), wait64) \
    SIM_CALL(cuStreamWriteValue32##suffix, \
             (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), \
             write32) \
    SIM_CALL(cuStreamWriteValue64##suffix, \
             (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), \
             write64) \
    SIM_CALL(cuStreamBatchMemOp##suffix, \
             (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *items, \
              unsigned int flags), \
             several)

WORD_CALLS(, first_form(stream, 1), first_form(stream, 1), first_form(stream, 1),
           first_form(stream, 1), first_form(stream, count))
WORD_CALLS(_v2, wait_value(stream, address, value, flags, CU_STREAM_MEM_OP_WAIT_VALUE_32),
           wait_value(stream, address, value, flags, CU_STREAM_MEM_OP_WAIT_VALUE_64),
           memory_operations_write_value(stream, address, value, flags,
                                         CU_STREAM_MEM_OP_WRITE_VALUE_32),
           memory_operations_write_value(stream, address, value, flags,
                                         CU_STREAM_MEM_OP_WRITE_VALUE_64),
           memory_operations_batch(stream, count, items, flags))

// SPDX-License-Identifier: BSD-3-Clause
// Reads JIT options and returns logs.
#include "client-lib/cuda/objects/jit_options.h"

#include <string.h>

static void log_answer(struct jit_log *log, const uint8_t *text, size_t size)
{
    if (!log->buffer || !log->size)
        return;
    size_t fits = size < log->size - 1 ? size : log->size - 1;
    memcpy(log->buffer, text, fits);
    log->buffer[fits] = 0;
    if (log->used)
        *log->used = (void *)(uintptr_t)(fits ? fits + 1 : 0);
}

void jit_answer(struct jit_options *jit)
{
    struct wire_jit_outputs head;
    if (jit->outputs_size < sizeof(head))
        return;
    memcpy(&head, jit->outputs, sizeof(head));
    size_t left = jit->outputs_size - sizeof(head);
    if (head.info_size > left || head.error_size > left - head.info_size)
        return;
    const uint8_t *text = jit->outputs + sizeof(head);
    log_answer(&jit->info, text, head.info_size);
    log_answer(&jit->error, text + head.info_size, head.error_size);
    if (jit->wall_time)
        memcpy(jit->wall_time, &head.wall_time, sizeof(head.wall_time));
    if (jit->threads_per_block)
        memcpy(jit->threads_per_block, &head.threads_per_block, sizeof(head.threads_per_block));
}

static CUresult jit_options_add(struct jit_options *jit, uint32_t option, uint32_t group,
                                uint64_t value)
{
    if (jit->count == JIT_OPTIONS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    jit->options[jit->count++] = (struct wire_option){option, group, value};
    return CUDA_SUCCESS;
}

// The box has its own buffers, of the same sizes.
static CUresult add_logs(struct jit_options *jit)
{
    CUresult result = CUDA_SUCCESS;
    if (jit->info.buffer && jit->info.size)
        result = jit_options_add(jit, CU_JIT_INFO_LOG_BUFFER, 0, jit->info.size);
    if (result == CUDA_SUCCESS && jit->error.buffer && jit->error.size)
        result = jit_options_add(jit, CU_JIT_ERROR_LOG_BUFFER, 0, jit->error.size);
    return result;
}

CUresult jit_read(struct jit_options *jit, unsigned int count, const CUjit_option *options,
                  void *const *values)
{
    jit->count = 0;
    jit->outputs_size = 0;
    memset(&jit->info, 0, sizeof(jit->info));
    memset(&jit->error, 0, sizeof(jit->error));
    jit->wall_time = jit->threads_per_block = NULL;
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        uint64_t value = (uintptr_t)values[i];
        void **slot = (void **)&values[i];
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER: jit->info.buffer = values[i]; continue;
        case CU_JIT_ERROR_LOG_BUFFER: jit->error.buffer = values[i]; continue;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info.size = (uint32_t)value;
            jit->info.used = slot;
            continue;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error.size = (uint32_t)value;
            jit->error.used = slot;
            continue;
        case CU_JIT_WALL_TIME: jit->wall_time = slot; break;
        case CU_JIT_THREADS_PER_BLOCK: jit->threads_per_block = slot; break;
        case CU_JIT_GLOBAL_SYMBOL_NAMES:
        case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
        case CU_JIT_REFERENCED_KERNEL_NAMES:
        case CU_JIT_REFERENCED_VARIABLE_NAMES:
            if (values[i])
                return CUDA_ERROR_NOT_SUPPORTED;
            continue;
        default: break;
        }
        CUresult result = jit_options_add(jit, (uint32_t)options[i], 0, value);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return add_logs(jit);
}

CUresult jit_add_library_options(struct jit_options *jit, unsigned int count,
                                 const CUlibraryOption *options, void *const *values)
{
    if (count && !options)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        // Tables of host functions are only for code that was compiled for host and device
        // together.
        if (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
            continue;
        CUresult result =
            jit_options_add(jit, (uint32_t)options[i], 1, values ? (uintptr_t)values[i] : 0);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

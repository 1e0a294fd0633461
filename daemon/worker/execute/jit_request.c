// SPDX-License-Identifier: BSD-3-Clause
// Options of the just-in-time compiler arrive as numbers; results leave as numbers and texts.
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/execute/serve_image.h"
#include "daemon/worker/request/serve.h"

static void jit_request_add(struct jit_request *jit, CUjit_option name, uint64_t value)
{
    jit->names[jit->count] = name;
    jit->values[jit->count++] = (void *)(uintptr_t)value;
}

static bool add_log(struct serve *serve, struct jit_request *jit, CUjit_option buffer,
                    CUjit_option size, uint64_t wanted, char **text, uint32_t *room)
{
    if (*text || !wanted)
        return true;
    *room = wanted < JIT_LOG_MAX ? (uint32_t)wanted : JIT_LOG_MAX;
    *text = calloc(1, *room + 1);
    if (!*text) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return false;
    }
    jit_request_add(jit, buffer, (uint64_t)(uintptr_t)*text);
    jit_request_add(jit, size, *room);
    return true;
}

static bool parse_one(struct serve *serve, const struct wire_option *option,
                      struct jit_request *jit)
{
    switch ((CUjit_option)option->option) {
    case CU_JIT_INFO_LOG_BUFFER:
        return add_log(serve, jit, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                       option->value, &jit->info, &jit->info_size);
    case CU_JIT_ERROR_LOG_BUFFER:
        return add_log(serve, jit, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                       option->value, &jit->error, &jit->error_size);
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: return true; // the size came with the buffer
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
    case CU_JIT_REFERENCED_KERNEL_NAMES:
    case CU_JIT_REFERENCED_KERNEL_COUNT:
    case CU_JIT_REFERENCED_VARIABLE_NAMES:
    case CU_JIT_REFERENCED_VARIABLE_COUNT:
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED); // pointers into the client
        return false;
    default:
        if (option->option >= CU_JIT_NUM_OPTIONS) {
            serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
            return false;
        }
        jit_request_add(jit, (CUjit_option)option->option, option->value);
        return true;
    }
}

bool jit_parse(struct serve *serve, const void *options, uint32_t bytes, struct jit_request *out)
{
    const struct wire_option *list = options;
    uint32_t count = bytes / (uint32_t)sizeof(*list);

    memset(out, 0, sizeof(*out));
    if (bytes % sizeof(*list) || count > JIT_OPTIONS_MAX) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].group == 0 && !parse_one(serve, &list[i], out))
            return false;
        // One library option is a table of pointers; the other promises to keep the image in place,
        // which the client does and the worker does not.
        if (list[i].group > 1 ||
            (list[i].group == 1 && list[i].option != CU_LIBRARY_BINARY_IS_PRESERVED)) {
            serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
            return false;
        }
    }
    return true;
}

static const void *jit_request_value_of(const struct jit_request *jit, CUjit_option name)
{
    for (unsigned i = 0; i < jit->count; i++)
        if (jit->names[i] == name)
            return &jit->values[i];
    return NULL;
}

static uint32_t log_length(const char *text, uint32_t size, uint32_t room)
{
    uint32_t length = text ? (uint32_t)strnlen(text, size) : 0;

    return length < room ? length : room;
}

void jit_reply(struct serve *serve, const struct jit_request *jit, uint32_t room)
{
    struct wire_jit_outputs *outputs = (void *)serve->bytes;
    const void *wall = jit_request_value_of(jit, CU_JIT_WALL_TIME);
    const void *threads = jit_request_value_of(jit, CU_JIT_THREADS_PER_BLOCK);

    room = serve_reply_room(serve, room);
    if (room < sizeof(*outputs))
        return;
    room -= (uint32_t)sizeof(*outputs);
    memset(outputs, 0, sizeof(*outputs));
    // Outputs stand in the value's place.
    if (wall)
        memcpy(&outputs->wall_time, wall, sizeof(outputs->wall_time));
    if (threads)
        memcpy(&outputs->threads_per_block, threads, sizeof(outputs->threads_per_block));
    outputs->error_size = log_length(jit->error, jit->error_size, room);
    outputs->info_size = log_length(jit->info, jit->info_size, room - outputs->error_size);
    uint8_t *text = (uint8_t *)(outputs + 1);
    if (outputs->info_size)
        memcpy(text, jit->info, outputs->info_size);
    if (outputs->error_size)
        memcpy(text + outputs->info_size, jit->error, outputs->error_size);
    serve_reply_bytes(serve, outputs, sizeof(*outputs) + outputs->info_size + outputs->error_size);
}

void jit_free(struct jit_request *jit)
{
    free(jit->info);
    free(jit->error);
}

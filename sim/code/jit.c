// SPDX-License-Identifier: BSD-3-Clause
#include "sim/code/jit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/driver/image.h"
#include "common/base/log.h"

#define ARCHITECTURE 90

static size_t slot_number(void *const *slot)
{
    return (unsigned)(uintptr_t)*slot;
}

CUresult jit_begin(struct jit *jit, unsigned count, const CUjit_option *options, void **values)
{
    memset(jit, 0, sizeof(*jit));
    SIM_RETURN_IF(count && (!options || !values), CUDA_ERROR_INVALID_VALUE);
    jit->started_ns = clock_ns();
    for (unsigned i = 0; i < count; i++) {
        SIM_RETURN_IF((unsigned)options[i] >= CU_JIT_NUM_OPTIONS, CUDA_ERROR_INVALID_VALUE);
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER: jit->info.buf = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: jit->info_size = &values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER: jit->error.buf = values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: jit->error_size = &values[i]; break;
        case CU_JIT_WALL_TIME: jit->wall_time = &values[i]; break;
        }
    }
    if (jit->info.buf && jit->info_size)
        jit->info.size = slot_number(jit->info_size);
    if (jit->error.buf && jit->error_size)
        jit->error.size = slot_number(jit->error_size);
    if (!jit->error.size) {
        jit->error.buf = jit->own_error;
        jit->error.size = sizeof(jit->own_error);
    }
    jit->error.buf[0] = '\0';
    if (jit->info.size)
        jit->info.buf[0] = '\0';
    return CUDA_SUCCESS;
}

static void set_slot(void **slot, size_t value)
{
    if (slot)
        *slot = (void *)(uintptr_t)value;
}

void jit_finish(struct jit *jit, CUresult result)
{
    bool own = jit->error.buf == jit->own_error;
    set_slot(jit->info_size, jit->info.used);
    set_slot(jit->error_size, own ? 0 : jit->error.used);
    if (jit->wall_time) {
        float milliseconds = (float)(clock_ns() - jit->started_ns) / 1e6f;
        uint32_t bits;
        memcpy(&bits, &milliseconds, sizeof(bits));
        set_slot(jit->wall_time, bits);
    }
    if (result && own && jit->error.used)
        log_warn("device code refused, error=%d: %s", (int)result, jit->error.buf);
}

void jit_error(struct jit *jit, const char *format, ...)
{
    va_list arguments;
    struct ptx_log *log = &jit->error;
    size_t room = log->size - log->used;
    va_start(arguments, format);
    int length = vsnprintf(log->buf + log->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        log->used += (size_t)length < room ? (size_t)length : room - 1;
}

CUresult jit_extract(struct jit *jit, const void *pointer, size_t length, char **text, size_t *size)
{
    struct image image;
    SIM_RETURN_IF(!pointer, CUDA_ERROR_INVALID_VALUE);
    if (length == JIT_UNBOUNDED ? image_locate(pointer, &image)
                                : image_parse(pointer, length, &image)) {
        jit_error(jit, "the image is not a whole PTX text, fat binary or ELF object\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    switch (image_extract_ptx(&image, ARCHITECTURE, text, size)) {
    case 0: return CUDA_SUCCESS;
    case -ENOENT:
        jit_error(jit,
                  "the image (%s) has no PTX for sm_%d or below, and the software GPU runs "
                  "nothing else\n",
                  image_kind_name(image.kind), ARCHITECTURE);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case -ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    }
    jit_error(jit, "the image (%s) is damaged\n", image_kind_name(image.kind));
    return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult compile_result(int error)
{
    switch (error) {
    case 0: return CUDA_SUCCESS;
    case -ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    case -ENOEXEC: return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    // also for PTX that the engine cannot execute; the log names the instruction
    return CUDA_ERROR_INVALID_PTX;
}

static size_t count_parts(const char *text)
{
    size_t count = 1;
    while ((text = strstr(text, JIT_PART_MARKER))) {
        text += strlen(JIT_PART_MARKER);
        count++;
    }
    return count;
}

// Links the parts of a text, which ends with a NUL.
static int link_parts(struct jit *jit, const char *text, size_t count, struct ptx_module **out)
{
    struct ptx_source *sources = calloc(count, sizeof(*sources));
    if (!sources)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *end = strstr(text, JIT_PART_MARKER);
        sources[i].text = text;
        sources[i].len = end ? (size_t)(end - text) : strlen(text);
        text = end ? end + strlen(JIT_PART_MARKER) : NULL;
    }
    int result = ptx_module_link(sources, count, &jit->info, &jit->error, out);
    free(sources);
    return result;
}

CUresult jit_compile(struct jit *jit, const char *text, size_t size, struct ptx_module **out)
{
    size_t count = count_parts(text);
    if (count > 1)
        return compile_result(link_parts(jit, text, count, out));
    return compile_result(ptx_module_compile(text, size, &jit->info, &jit->error, out));
}

CUresult jit_read_file(const char *path, char **out, size_t *size)
{
    SIM_RETURN_IF(!path, CUDA_ERROR_INVALID_VALUE);
    FILE *file = fopen(path, "re");
    SIM_RETURN_IF(!file, CUDA_ERROR_FILE_NOT_FOUND);
    CUresult result = CUDA_ERROR_INVALID_SOURCE;
    long length = -1;
    if (!fseek(file, 0, SEEK_END) && (length = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET)) {
        char *text = malloc((size_t)length + 1);
        result = CUDA_ERROR_OUT_OF_MEMORY;
        if (text && fread(text, 1, (size_t)length, file) == (size_t)length) {
            text[length] = '\0';
            *out = text;
            *size = (size_t)length;
            result = CUDA_SUCCESS;
        } else {
            free(text);
        }
    }
    fclose(file);
    return result;
}

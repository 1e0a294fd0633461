// SPDX-License-Identifier: BSD-3-Clause
// Implements the linker. It concatenates PTX texts to an image, which is linked when it is loaded.
// cuLinkComplete compiles the texts only to report errors.
#include <stdlib.h>
#include <string.h>

#include "common/driver/image.h"
#include "common/base/scope.h"
#include "sim/engine/context.h"
#include "sim/code/jit.h"

#define ARCHITECTURE 90

struct ptx_linker {
    struct sim_object object;
    struct jit jit;
    pthread_mutex_t lock; // guards the fields below
    char *image;          // the texts so far, with a NUL after them
    size_t size;
    bool complete;
};

static void link_destroy(struct sim_object *object)
{
    struct ptx_linker *link = (struct ptx_linker *)object;
    pthread_mutex_destroy(&link->lock);
    free(link->image);
    free(link);
}

static CUresult link_get(CUlinkState handle, struct ptx_linker **out)
{
    SIM_TRY(sim_check_ready());
    struct ptx_linker *link = handle_get(OBJECT_LINK, handle);
    SIM_RETURN_IF(!link, CUDA_ERROR_INVALID_HANDLE);
    *out = link;
    return CUDA_SUCCESS;
}

SIM_API(cuLinkCreate_v2, unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    struct ptx_linker *link = calloc(1, sizeof(*link));
    SIM_RETURN_IF(!link, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&link->object, OBJECT_LINK, NULL, link_destroy);
    pthread_mutex_init(&link->lock, NULL);
    CUresult result = jit_begin(&link->jit, count, options, values);
    if (!result)
        result = handle_publish(&link->object);
    if (result)
        object_put(&link->object);
    else
        *out = object_handle(&link->object);
    return result;
}

// Appends a text. Called under the lock.
static CUresult link_api_append(struct ptx_linker *link, const char *text, size_t size)
{
    size_t gap = link->size ? strlen(JIT_PART_MARKER) : 0;
    char *image = realloc(link->image, link->size + gap + size + 1);
    SIM_RETURN_IF(!image, CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(image + link->size, JIT_PART_MARKER, gap);
    memcpy(image + link->size + gap, text, size);
    link->image = image;
    link->size += gap + size;
    image[link->size] = '\0';
    return CUDA_SUCCESS;
}

// Appends the PTX of a fat binary or object. Called under the lock.
static CUresult append_binary(struct ptx_linker *link, const void *data, size_t size)
{
    struct image image;
    char *text;
    size_t length;
    if (image_parse(data, size, &image)) {
        jit_error(&link->jit, "the input is no image that the linker knows\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (image_extract_ptx(&image, ARCHITECTURE, &text, &length)) {
        jit_error(&link->jit, "the input (%s) has no PTX for sm_%d or below\n",
                  image_kind_name(image.kind), ARCHITECTURE);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    CUresult result = link_api_append(link, text, length);
    free(text);
    return result;
}

// Adds one input. Called under the lock.
static CUresult link_api_add_data(struct ptx_linker *link, CUjitInputType type, const void *data,
                                  size_t size)
{
    SIM_RETURN_IF(link->complete || !data || !size, CUDA_ERROR_INVALID_VALUE);
    switch (type) {
    case CU_JIT_INPUT_PTX: return link_api_append(link, data, strnlen(data, size));
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_FATBINARY:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY: return append_binary(link, data, size);
    case CU_JIT_INPUT_NVVM: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_JIT_NUM_INPUT_TYPES: break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

// Adds an input. Options of a single input tune its compilation and are ignored here.
static CUresult link_api_add(CUlinkState handle, CUjitInputType type, const void *data, size_t size,
                             unsigned count, const CUjit_option *options, void **values)
{
    SCOPED_OBJECT struct ptx_linker *link = NULL;
    struct jit ignored;
    SIM_TRY(link_get(handle, &link));
    CUresult result = jit_begin(&ignored, count, options, values);
    if (!result) {
        SCOPED_LOCK(&link->lock);
        result = link_api_add_data(link, type, data, size);
    }
    return result;
}

SIM_API(cuLinkAddFile_v2, CUlinkState handle, CUjitInputType type, const char *path, unsigned count,
        const CUjit_option *options, void **values)
{
    char *data;
    size_t size;
    SIM_TRY(sim_check_ready());
    SIM_TRY(jit_read_file(path, &data, &size));
    CUresult result = link_api_add(handle, type, data, size, count, options, values);
    free(data);
    return result;
}

SIM_API(cuLinkAddData_v2, CUlinkState state, CUjitInputType type, void *data, size_t size,
        const char *name, unsigned int count, CUjit_option *options, void **values)
{
    return link_api_add(state, type, data, size, count, options, values);
}

// Compiles the texts once. Called under the lock.
static CUresult link_api_complete(struct ptx_linker *link)
{
    struct ptx_module *module;
    SIM_RETURN_IF(!link->image, CUDA_ERROR_INVALID_VALUE);
    if (link->complete)
        return CUDA_SUCCESS;
    CUresult result = jit_compile(&link->jit, link->image, link->size, &module);
    if (!result)
        ptx_module_free(&module);
    link->complete = !result;
    jit_finish(&link->jit, result);
    return result;
}

// The image lives until the link state is destroyed; its NUL counts as part of it.
SIM_API(cuLinkComplete, CUlinkState handle, void **image, size_t *size)
{
    SCOPED_OBJECT struct ptx_linker *link = NULL;
    SIM_TRY(link_get(handle, &link));
    SCOPED_LOCK(&link->lock);
    CUresult result = image ? link_api_complete(link) : CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        *image = link->image;
        if (size)
            *size = link->size + 1;
    }
    return result;
}

SIM_API(cuLinkDestroy, CUlinkState handle)
{
    struct ptx_linker *link;
    SIM_TRY(link_get(handle, &link));
    bool first = handle_revoke(&link->object);
    if (first)
        object_put(&link->object);
    object_put(&link->object);
    return first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

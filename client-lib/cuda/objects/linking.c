// SPDX-License-Identifier: BSD-3-Clause
// The driver's linker, which runs on the box.
#include "client-lib/cuda/objects/linking.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/jit_options.h"
#include "client-lib/cuda/objects/object.h"
#include "client_calls.h"
#include "common/base/scope.h"

// Every step fills the logs, so the options are kept with the linker's state.
struct kept_jit {
    uint64_t state;
    struct jit_options jit;
    struct kept_jit *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_jit *states;

static struct kept_jit *kept(CUlinkState state)
{
    SCOPED_LOCK(&lock);
    struct kept_jit *found = states;
    while (found && found->state != (uintptr_t)state)
        found = found->next;
    return found;
}

static void linking_keep(struct kept_jit *made, CUlinkState state)
{
    SCOPED_LOCK(&lock);
    made->state = (uintptr_t)state;
    made->next = states;
    states = made;
}

static struct kept_jit *linking_take(CUlinkState state)
{
    SCOPED_LOCK(&lock);
    struct kept_jit **at = &states;
    while (*at && (*at)->state != (uintptr_t)state)
        at = &(*at)->next;
    struct kept_jit *found = *at;
    if (found)
        *at = found->next;
    return found;
}

CUresult linker_create(unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
    SCOPED_FREE struct kept_jit *made = malloc(sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = jit_read(&made->jit, count, options, values);
    if (result == CUDA_SUCCESS)
        result = remote_link_create(state, made->jit.options, jit_options_size(&made->jit));
    if (result == CUDA_SUCCESS)
        linking_keep(scoped_take(&made), *state);
    return result;
}

CUresult linker_add(CUlinkState state, CUjitInputType type, const void *data, size_t size,
                    unsigned int count, CUjit_option *options, void **values)
{
    struct kept_jit *link = kept(state);
    if (!link || !data || !size)
        return link ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    SCOPED_FREE struct jit_options *step = malloc(sizeof(*step));
    uint32_t image = 0;
    CUresult result = step ? jit_read(step, count, options, values) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = image_send(data, size, &image);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_link_add(state, image, type, step->options, jit_options_size(step),
                             link->jit.outputs, sizeof(link->jit.outputs), &link->jit.outputs_size);
    jit_answer(&link->jit);
    remote_image_free(image);
    return result;
}

static CUresult read_result(CUlinkState state, uint64_t size, void **image)
{
    SCOPED_FREE uint8_t *bytes = malloc(size ? size : 1);
    CUresult result = bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint64_t offset = 0; result == CUDA_SUCCESS && offset < size;) {
        size_t used = 0;
        size_t room = size - offset < WIRE_INLINE_MAX ? size - offset : WIRE_INLINE_MAX;
        result = remote_link_read(state, offset, bytes + offset, room, &used);
        if (result == CUDA_SUCCESS && !used)
            result = CUDA_ERROR_UNKNOWN;
        offset += used;
    }
    if (result == CUDA_SUCCESS)
        *image = scoped_take(&bytes);
    return result;
}

CUresult linker_complete(CUlinkState state, void **image, size_t *size)
{
    struct kept_jit *link = kept(state);
    struct object *object = object_find(HANDLE_LINK, state);
    uint64_t bytes = 0;
    if (!link || !object)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = remote_link_complete(state, &bytes, link->jit.outputs,
                                           sizeof(link->jit.outputs), &link->jit.outputs_size);
    jit_answer(&link->jit);
    void *made = NULL;
    if (result == CUDA_SUCCESS)
        result = read_result(state, bytes, &made);
    if (result != CUDA_SUCCESS)
        return result;
    free(object->link.image);
    object->link.image = made;
    *image = made;
    *size = bytes;
    return CUDA_SUCCESS;
}

CUresult linker_destroy(CUlinkState state)
{
    CUresult result = remote_cuLinkDestroy(state);
    if (result == CUDA_SUCCESS)
        free(linking_take(state));
    return result;
}

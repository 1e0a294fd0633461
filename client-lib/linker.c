// The driver's linker (cuLink*), which runs on the box.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/exports.h"
#include "client-lib/image.h"
#include "client-lib/jit.h"
#include "client-lib/object.h"

// The logs are filled at every step, so the options of the creation are kept with the state.
struct kept_jit {
    uint64_t state;
    struct jit jit;
    struct kept_jit *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_jit *states;

static struct kept_jit *kept(CUlinkState state)
{
    pthread_mutex_lock(&lock);
    struct kept_jit *found = states;
    while (found && found->state != (uintptr_t)state)
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                         CUlinkState *stateOut)
{
    struct kept_jit *made = malloc(sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = jit_read(&made->jit, numOptions, options, optionValues);
    if (result == CUDA_SUCCESS)
        result = remote_link_create(stateOut, made->jit.options, jit_options_size(&made->jit));
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    made->state = (uintptr_t)*stateOut;
    pthread_mutex_lock(&lock);
    made->next = states;
    states = made;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                      CUlinkState *stateOut)
{
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int numOptions, CUjit_option *options,
                          void **optionValues)
{
    struct kept_jit *link = kept(state);
    if (!link || !data || !size)
        return link ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    struct jit *step = malloc(sizeof(*step));
    uint32_t image = 0;
    CUresult result = step ? jit_read(step, numOptions, options, optionValues)
                           : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = image_send(data, size, &image);
    if (result == CUDA_SUCCESS) {
        result = remote_link_add(state, image, type, step->options, jit_options_size(step),
                                 link->jit.outputs, sizeof(link->jit.outputs),
                                 &link->jit.outputs_size);
        jit_answer(&link->jit);
        remote_image_free(image);
    }
    free(step);
    return result;
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned int numOptions, CUjit_option *options,
                       void **optionValues)
{
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    void *data;
    size_t size;
    CUresult result = image_read_file(path, &data, &size);
    if (result == CUDA_SUCCESS) {
        if (type == CU_JIT_INPUT_PTX)
            size++; // with its NUL
        result = cuLinkAddData_v2(state, type, data, size, path, numOptions, options,
                                  optionValues);
        free(data);
    }
    return result;
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

static CUresult read_result(CUlinkState state, uint64_t size, void **image)
{
    uint8_t *bytes = malloc(size ? size : 1);
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
        *image = bytes;
    else
        free(bytes);
    return result;
}

CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    struct kept_jit *link = kept(state);
    struct object *object = object_find(HANDLE_LINK, state);
    uint64_t size = 0;
    if (!link || !object || !cubinOut)
        return cubinOut ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    CUresult result = remote_link_complete(state, &size, link->jit.outputs,
                                           sizeof(link->jit.outputs), &link->jit.outputs_size);
    jit_answer(&link->jit);
    void *image = NULL;
    if (result == CUDA_SUCCESS)
        result = read_result(state, size, &image);
    if (result != CUDA_SUCCESS)
        return result;
    free(object->link.image);
    object->link.image = image;
    *cubinOut = image;
    if (sizeOut)
        *sizeOut = size;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    CUresult result = remote_cuLinkDestroy(state);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    struct kept_jit **at = &states;
    while (*at && (*at)->state != (uintptr_t)state)
        at = &(*at)->next;
    struct kept_jit *gone = *at;
    if (gone)
        *at = gone->next;
    pthread_mutex_unlock(&lock);
    free(gone);
    return CUDA_SUCCESS;
}

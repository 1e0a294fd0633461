// SPDX-License-Identifier: BSD-3-Clause
// The common beginning and end of the library's functions.
#include <string.h>

#include "client-lib/nvml/nvml_library.h"
#include "common/base/uncancelled.h"

// The handle of a device is the address of its byte here.
static char handles[NVML_GPUS_MAX];

// ---- entering ----

// Protected by the lock: the cancellation state of the thread that holds the lock.
static int cancel_state;

void nvml_lock(void)
{
    int before = uncancelled_begin();

    pthread_mutex_lock(&nvml_state.lock);
    cancel_state = before;
}

int nvml_enter(void)
{
    nvml_lock();
    if (nvml_state.users)
        return NVML_OK;
    nvml_leave();
    return NVML_UNINITIALIZED;
}

void nvml_leave(void)
{
    int before = cancel_state;

    pthread_mutex_unlock(&nvml_state.lock);
    uncancelled_end(&before);
}

static struct lease_gpu *nvml_library_find_device(const void *device)
{
    uintptr_t place = (uintptr_t)device - (uintptr_t)handles;

    return place < nvml_state.count ? &nvml_state.gpus[place] : NULL;
}

int nvml_enter_device(void *device, struct lease_gpu **gpu)
{
    int result = nvml_enter();

    if (result)
        return result;
    *gpu = nvml_library_find_device(device);
    if (!*gpu)
        result = NVML_INVALID_ARGUMENT;
    else
        boxes_refresh();
    if (!result && (*gpu)->lost)
        result = NVML_GPU_IS_LOST;
    if (result)
        nvml_leave();
    return result;
}

void *nvml_handle(unsigned index)
{
    return &handles[index];
}

unsigned nvml_index(const struct lease_gpu *gpu)
{
    return (unsigned)(gpu - nvml_state.gpus);
}

int nvml_put_text(const char *text, char *out, unsigned size)
{
    size_t length = strlen(text) + 1;

    if (!out)
        return NVML_INVALID_ARGUMENT;
    if (length > size)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, length);
    return NVML_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
// Functions that are not supported for remote GPUs: changes of a GPU, which only the administrator
// may make, MIG and virtual GPUs, and queries that the box does not answer. They exist because some
// programs consider a library with missing symbols broken.
#include <errno.h>
#include <time.h>

#include "client-lib/nvml/nvml_library.h"
#include "common/base/log.h"

#define UNSUPPORTED(name) \
    NVML_EXPORT(name, void) \
    { \
        int result = nvml_enter(); \
        if (result) \
            return result; \
        nvml_leave(); \
        log_debug("not supported name=%s", #name); \
        return NVML_NOT_SUPPORTED; \
    }
#include "client-lib/nvml/nvml_unsupported.h"

// ---- events: not supported, so no device can be registered ----

static char event_set;

NVML_EXPORT(nvmlEventSetCreate, void **set)
{
    int result = set ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *set = &event_set;
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlEventSetFree, void *set)
{
    return set == &event_set ? NVML_OK : NVML_INVALID_ARGUMENT;
}

static int wait_in_vain(const void *set, unsigned milliseconds)
{
    struct timespec left = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};

    if (set != &event_set)
        return NVML_INVALID_ARGUMENT;
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
    return NVML_TIMEOUT;
}

NVML_EXPORT(nvmlEventSetWait, void *set, void *data, unsigned milliseconds)
{
    return wait_in_vain(set, milliseconds);
}

NVML_EXPORT(nvmlEventSetWait_v2, void *set, void *data, unsigned milliseconds)
{
    return wait_in_vain(set, milliseconds);
}

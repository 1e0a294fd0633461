// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/suspender/checkpoint_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct checkpoint_calls checkpoint;

static bool checkpoint_calls_find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    memcpy(function, &address, sizeof(address));
    return address != NULL;
}

const char *checkpoint_error(CUresult result)
{
    const char *name;

    return checkpoint.error_name(result, &name) ? "an error without a name" : name;
}

const char *checkpoint_load(const char *path)
{
    static char text[256];
    void *handle = dlopen(path, RTLD_NOW);

    if (!handle)
        return dlerror();
    if (!checkpoint_calls_find(handle, "cuInit", &checkpoint.init) ||
        !checkpoint_calls_find(handle, "cuGetErrorName", &checkpoint.error_name) ||
        !checkpoint_calls_find(handle, "cuDeviceGetCount", &checkpoint.device_count) ||
        !checkpoint_calls_find(handle, "cuDeviceGet", &checkpoint.device) ||
        !checkpoint_calls_find(handle, "cuDeviceGetUuid_v2", &checkpoint.device_uuid) ||
        !checkpoint_calls_find(handle, "cuCheckpointProcessGetState", &checkpoint.state) ||
        !checkpoint_calls_find(handle, "cuCheckpointProcessLock", &checkpoint.lock) ||
        !checkpoint_calls_find(handle, "cuCheckpointProcessCheckpoint", &checkpoint.checkpoint) ||
        !checkpoint_calls_find(handle, "cuCheckpointProcessRestore", &checkpoint.restore) ||
        !checkpoint_calls_find(handle, "cuCheckpointProcessUnlock", &checkpoint.unlock))
        return "this driver cannot suspend processes; 570 and later can";
    CUresult result = checkpoint.init(0);
    if (!result)
        return NULL;
    snprintf(text, sizeof(text), "the driver does not start: %s", checkpoint_error(result));
    return text;
}

// SPDX-License-Identifier: BSD-3-Clause
// See checkpoint_calls.h.
#include "suspender/checkpoint_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct checkpoint_calls checkpoint;

static bool find(void *handle, const char *name, void *function)
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
    if (!find(handle, "cuInit", &checkpoint.init) ||
        !find(handle, "cuGetErrorName", &checkpoint.error_name) ||
        !find(handle, "cuDeviceGetCount", &checkpoint.device_count) ||
        !find(handle, "cuDeviceGet", &checkpoint.device) ||
        !find(handle, "cuDeviceGetUuid_v2", &checkpoint.device_uuid) ||
        !find(handle, "cuCheckpointProcessGetState", &checkpoint.state) ||
        !find(handle, "cuCheckpointProcessLock", &checkpoint.lock) ||
        !find(handle, "cuCheckpointProcessCheckpoint", &checkpoint.checkpoint) ||
        !find(handle, "cuCheckpointProcessRestore", &checkpoint.restore) ||
        !find(handle, "cuCheckpointProcessUnlock", &checkpoint.unlock))
        return "this driver cannot suspend processes; 570 and later can";
    CUresult result = checkpoint.init(0);
    if (!result)
        return NULL;
    snprintf(text, sizeof(text), "the driver does not start: %s", checkpoint_error(result));
    return text;
}

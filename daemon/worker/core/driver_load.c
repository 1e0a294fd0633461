// SPDX-License-Identifier: BSD-3-Clause
// The library is loaded by its configured path, never by name: LD_LIBRARY_PATH could otherwise
// select rgpu's client library, which has the same name.
#include "daemon/worker/core/driver_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "worker_driver.h"

static const char *const needed[] = {
    "cuInit",          "cuDeviceGetCount",         "cuDeviceGet",          "cuDeviceGetAttribute",
    "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuMemHostRegister_v2", "cuFuncGetParamInfo",
};

static bool is_needed(const char *name)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!strcmp(needed[i], name))
            return true;
    return false;
}

// Drivers before CUDA 12.8 have the call only under its first name; it has the same arguments.
static void driver_load_earlier(void *library)
{
    if (!driver.cuEventElapsedTime_v2)
        *(void **)&driver.cuEventElapsedTime_v2 = dlsym(library, "cuEventElapsedTime");
}

int driver_load(const char *path, char *text, size_t room)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(text, room, "cannot load the driver: %s", dlerror());
        return -ENOENT;
    }
    if (dlsym(library, "rgpu_client_marker")) {
        snprintf(text, room,
                 "%s is rgpu's client library, not a driver; name the driver's own "
                 "libcuda.so.1",
                 path);
        return -ELOOP;
    }
    for (size_t i = 0; i < driver_symbol_count; i++) {
        void *function = dlsym(library, driver_symbols[i].name);
        if (!function && is_needed(driver_symbols[i].name)) {
            snprintf(text, room, "%s has no %s: CUDA 12.4 (driver 550) or later is needed", path,
                     driver_symbols[i].name);
            return -ENOSYS;
        }
        *(void **)((char *)&driver + driver_symbols[i].offset) = function;
    }
    driver_load_earlier(library);
    return 0;
}

const char *driver_error_name(CUresult result)
{
    const char *name = NULL;

    if (!driver.cuGetErrorName || driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        return "unknown error";
    return name;
}

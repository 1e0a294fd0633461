// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/cuda_calls.h"

#include <dlfcn.h>
#include <string.h>

int cuda_calls_load(const char *path, struct cuda_calls *out)
{
    void *handle = dlopen(path, RTLD_NOW);
    const struct {
        void *to;
        const char *name;
    } symbols[] = {
        {&out->init, "cuInit"},
        {&out->count, "cuDeviceGetCount"},
        {&out->name, "cuDeviceGetName"},
        {&out->explain, "cuGetErrorName"},
        {&out->retain, "cuDevicePrimaryCtxRetain"},
        {&out->set_current, "cuCtxSetCurrent"},
        {&out->memory, "cuMemGetInfo_v2"},
        {&out->alloc, "cuMemAlloc_v2"},
        {&out->release, "cuMemFree_v2"},
        {&out->load, "cuModuleLoadData"},
        {&out->find, "cuModuleGetFunction"},
        {&out->launch, "cuLaunchKernel"},
        {&out->to, "cuMemcpyHtoD_v2"},
        {&out->from, "cuMemcpyDtoH_v2"},
        {&out->peer, "cuMemcpyPeer"},
    };

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = handle ? dlsym(handle, symbols[i].name) : NULL;
        if (!symbol)
            return -1;
        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
    return 0;
}

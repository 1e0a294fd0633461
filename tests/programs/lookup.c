// SPDX-License-Identifier: BSD-3-Clause
// Reaches the driver as run-time libraries do: dlopen, cuGetProcAddress, names with versions.
#include <dlfcn.h>

#include "tests/programs/driver.h"

typedef CUresult (*lookup_fn)(const char *, void **, int, cuuint64_t,
                              CUdriverProcAddressQueryResult *);

static lookup_fn lookup;

static void *find(const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = lookup(name, &function, version, flags, &status);
    return result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS ? function : NULL;
}

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        bail("%s", dlerror());
    lookup = (lookup_fn)dlsym(library, "cuGetProcAddress_v2");
    if (!lookup)
        bail("no cuGetProcAddress_v2");
    ok(find("cuGetProcAddress", 12000, 0) != NULL, "the look-up finds itself");
    ok(dlsym(library, "cuMemAlloc") != NULL, "names without version are exported too");

    void *oldest = find("cuMemAlloc", 2000, 0), *newer = find("cuMemAlloc", 3020, 0);
    ok(newer && newer == dlsym(library, "cuMemAlloc_v2"), "cuMemAlloc at 3.2 is cuMemAlloc_v2");
    ok(oldest != newer, "at 2.0 it is another or none");
    ok(find("cuCtxCreate", 3020, 0) == dlsym(library, "cuCtxCreate_v2"),
       "cuCtxCreate at 3.2 is cuCtxCreate_v2");
    ok(find("cuMemcpyHtoDAsync", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) ==
           dlsym(library, "cuMemcpyHtoDAsync_v2_ptsz"),
       "the per-thread form of a call is found by its flag");
    ok(find("cuMemcpyHtoDAsync", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM) ==
           dlsym(library, "cuMemcpyHtoDAsync_v2"),
       "and the legacy form by its own");

    void *function = (void *)1;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    lookup("cuNoSuchCall", &function, 12000, 0, &status);
    ok(function == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
       "a call that does not exist is not found");
    function = (void *)1;
    lookup("cuMemAllocAsync", &function, 5000, 0, &status);
    ok(function == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
       "one newer than the version asked for is not given");

    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))find("cuInit", 2000, 0);
    CUresult (*count)(int *) = (CUresult(*)(int *))find("cuDeviceGetCount", 2000, 0);
    int devices = 0;
    ok(init && init(0) == CUDA_SUCCESS, "cuInit through the look-up");
    ok(count && count(&devices) == CUDA_SUCCESS && devices > 0, "and a count of devices");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// A program that looks again and again whether there is a GPU, and unloads the library each time:
// reloaded LIBRARY ROUNDS. It is linked without the library, and statically as well.
#include <dirent.h>
#include <dlfcn.h>

#include "proto/cuda_abi.h"
#include "tests/tap.h"

static int descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    int count = 0;
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

// Its cuInit()'s result and the devices that it has.
static int ask(const char *library, int *devices)
{
    CUresult (*init)(unsigned);
    CUresult (*count)(int *);
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle)
        bail("dlopen: %s", dlerror());
    *(void **)&init = dlsym(handle, "cuInit");
    *(void **)&count = dlsym(handle, "cuDeviceGetCount");
    if (!init || !count)
        bail("dlsym");
    int result = init(0);
    if (!result)
        result = count(devices);
    if (dlclose(handle))
        bail("dlclose");
    return result;
}

int main(int argc, char **argv)
{
    int devices = 0, failed = 0, first = 0;
    for (int round = 0; argc > 2 && round < atoi(argv[2]); round++) {
        failed += ask(argv[1], &devices) != CUDA_SUCCESS || devices < 1;
        if (!round)
            first = descriptors();
    }
    is_int(failed, 0, "each round finds the devices");
    is_int(descriptors(), first, "no round adds descriptors");
    return done();
}

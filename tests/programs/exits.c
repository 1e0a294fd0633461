// SPDX-License-Identifier: BSD-3-Clause
// usage: exits HOW. Leaves in the middle of work, in the way that HOW says: return, exit, _exit,
// thread (another thread calls exit), release (drops the context first), abort. The box must
// take it calmly; the script that runs this looks at that. Ends with status 0, or by SIGABRT.
#include <pthread.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static void *leave(void *unused)
{
    exit(0);
}

static void nothing(void *unused)
{
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    const size_t size = 32 << 20;
    unsigned long long pause = 300000000;
    unsigned n = (unsigned)(size / 4), one = 1;
    static void *pinned, *pageable; // never freed, and no leak for it
    struct gpu gpu = open_gpu(0);
    CUstream stream[3];
    CUdeviceptr data = device_alloc(size);
    pageable = must_alloc(size);
    CHECK(cuMemAllocHost(&pinned, size));
    for (int i = 0; i < 3; i++)
        CHECK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
    launch(kernel(&gpu, "delay"), 1, 1, stream[0], &pause);
    launch(kernel(&gpu, "add"), 1, 32, stream[0], &data, &one, &n);
    CHECK(cuLaunchHostFunc(stream[0], nothing, NULL));
    for (int i = 0; i < 10; i++) {
        CHECK(cuMemcpyHtoDAsync(data, pinned, size, stream[1]));
        CHECK(cuMemcpyDtoHAsync(pinned, data, size, stream[2]));
    }
    printf("ok 1 - work is under way\n1..1\n");
    fflush(stdout);
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "release"))
        CHECK(cuDevicePrimaryCtxRelease(gpu.device));
    if (!strcmp(how, "thread")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave, NULL))
            _exit(3);
        for (;;)
            cuMemcpyHtoD(data, pageable, size);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Registers a file that is mapped at addresses which the box has in use: those of device memory
// that was freed. Its pointer for the device is another one then, and as good. usage:
// registered_elsewhere, on a box with software GPUs over shared memory
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { SIZE = 1 << 20, WORDS = SIZE / 4 };

static unsigned wrong_words(const uint32_t *words, uint32_t want)
{
    unsigned wrong = 0;
    for (int i = 0; i < WORDS; i++)
        wrong += words[i] != want;
    return wrong;
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr taken = device_alloc(SIZE), address = 0;
    uint32_t n = WORDS, five = 5, back[2] = {0};
    int fd = memfd_create("registered", MFD_CLOEXEC);
    CHECK(cuMemFree(taken));
    if (fd < 0 || ftruncate(fd, SIZE))
        bail("no memory file");
    uint32_t *memory =
        mmap((void *)(uintptr_t)taken, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (memory == MAP_FAILED)
        bail("cannot map it there");
    gives(cuMemHostRegister(memory, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS,
          "what the box cannot map at its place is registered");
    gives(cuMemHostGetDevicePointer(&address, memory, 0), CUDA_SUCCESS, "and has a pointer");
    ok(address && address != (uintptr_t)memory, "which is another");
    launch(kernel(&gpu, "add"), WORDS / 256, 256, NULL, &address, &five, &n);
    CHECK(cuCtxSynchronize());
    is_int(wrong_words(memory, 5), 0, "kernels use it by that");
    CHECK(cuMemcpyDtoH(back, address + SIZE - 8, 8));
    ok(back[0] == 5 && back[1] == 5, "so do copies");
    CHECK(cuMemHostUnregister(memory));
    gives(cuMemcpyDtoH(back, address, 8), CUDA_ERROR_INVALID_VALUE, "until it is unregistered");
    close_gpu(&gpu);
    return done();
}

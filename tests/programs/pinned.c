// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory: allocated, mapped, registered; its attributes; copies from and to it.
#include <sys/mman.h>

#include "tests/programs/driver.h"

static void round_trip(void *memory, size_t size, const char *what)
{
    unsigned char *copy = must_alloc(size);
    CUdeviceptr device = device_alloc(size);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    fill_random(memory, size, size);
    memcpy(copy, memory, size);
    CHECK(cuMemcpyHtoDAsync(device, memory, size, stream));
    CHECK(cuStreamSynchronize(stream));
    memset(memory, 0, size);
    CHECK(cuMemcpyDtoHAsync(memory, device, size, stream));
    CHECK(cuStreamSynchronize(stream));
    is_mem(memory, copy, size, "%s: there and back", what);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(device));
    free(copy);
}

static void allocated(void)
{
    const size_t size = 3 << 20;
    unsigned char *memory;
    unsigned flags = 99;
    CHECK(cuMemAllocHost((void **)&memory, size));
    round_trip(memory, size, "cuMemAllocHost");
    round_trip(memory + 12345, size - 23456, "part of it");
    gives(cuMemHostGetFlags(&flags, memory), CUDA_SUCCESS, "its flags can be asked for");
    CUmemorytype type = 0;
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory),
          CUDA_SUCCESS, "it is a pointer that the driver knows");
    is_int(type, CU_MEMORYTYPE_HOST, "to host memory");
    void *host = NULL;
    CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                (CUdeviceptr)(memory + 100)));
    ok(host == memory + 100, "its host address is its address");
    gives(cuMemFreeHost(memory), CUDA_SUCCESS, "it can be freed");
    ok(cuMemFreeHost(memory) != CUDA_SUCCESS, "but not twice");

    CHECK(cuMemHostAlloc((void **)&memory, 4096,
                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
    CHECK(cuMemHostGetFlags(&flags, memory));
    ok((flags & CU_MEMHOSTALLOC_PORTABLE) && (flags & CU_MEMHOSTALLOC_WRITECOMBINED),
       "flags of cuMemHostAlloc are kept");
    CHECK(cuMemFreeHost(memory));
    gives(cuMemHostAlloc((void **)&memory, 4096, 0x4000), CUDA_ERROR_INVALID_VALUE,
          "unknown flags are refused");
}

static void registered(void)
{
    const size_t size = 5 << 20;
    unsigned char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bail("mmap");
    fill_random(memory, size, 3);
    gives(cuMemHostRegister(memory, size, 0), CUDA_SUCCESS, "memory of ours can be registered");
    gives(cuMemHostRegister(memory, size, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          "but not twice");
    round_trip(memory, size, "registered memory");
    gives(cuMemHostUnregister(memory), CUDA_SUCCESS, "and unregistered");
    gives(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "once");
    round_trip(memory, size, "memory that was registered before");
    munmap(memory, size);

    unsigned char *heap = must_alloc(100001);
    gives(cuMemHostRegister(heap + 1, 99999, CU_MEMHOSTREGISTER_PORTABLE), CUDA_SUCCESS,
          "an unaligned part of the heap can be registered");
    round_trip(heap + 1, 99999, "the unaligned part");
    CHECK(cuMemHostUnregister(heap + 1));
    free(heap);
}

static void mapped(const struct gpu *gpu)
{
    const unsigned n = 1000, value = 3;
    uint32_t *memory;
    CUdeviceptr address = 0;
    unsigned wrong = 0;
    CUresult result = cuMemHostAlloc((void **)&memory, n * 4, CU_MEMHOSTALLOC_DEVICEMAP);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        skip(2, "mapped host memory: not supported over this transport");
        return;
    }
    check_call(result, "cuMemHostAlloc(DEVICEMAP)", __FILE__, __LINE__);
    result = cuMemHostGetDevicePointer(&address, memory, 0);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        skip(2, "mapped host memory: not supported over this transport");
        CHECK(cuMemFreeHost(memory));
        return;
    }
    is_int(result, CUDA_SUCCESS, "mapped memory has a device address");
    for (unsigned i = 0; i < n; i++)
        memory[i] = i;
    launch(kernel(gpu, "add"), 2, 128, NULL, &address, (void *)&value, (void *)&n);
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < n; i++)
        wrong += memory[i] != i + value;
    is_int(wrong, 0, "a kernel reads and writes it where it is");
    CHECK(cuMemFreeHost(memory));
}

// Page-locked memory is an address to the calls for device memory too, whether the GPU can map it
// or not.
static void by_one_address(void)
{
    enum { WORDS = 1 << 14 };
    uint32_t *memory, *other, word = 0;
    CUstream stream;
    CHECK(cuMemHostAlloc((void **)&memory, WORDS * sizeof(*memory), CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuMemHostAlloc((void **)&other, WORDS * sizeof(*other), CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
    memset(memory, 0, WORDS * sizeof(*memory));
    gives(cuMemsetD32Async(at, 0x01020304, WORDS, stream), CUDA_SUCCESS,
          "it is filled in a stream");
    CHECK(cuStreamSynchronize(stream));
    size_t right = 0;
    while (right < WORDS && memory[right] == 0x01020304)
        right++;
    is_int((int)right, WORDS, "with what was asked for");
    gives(cuMemsetD2D16(at + 2, 64, 0xabcd, 3, 2), CUDA_SUCCESS, "rows of it are filled");
    CHECK(cuCtxSynchronize());
    ok(memory[0] == 0xabcd0304 && memory[1] == 0xabcdabcd && memory[2] == 0x01020304 &&
           memory[16] == 0xabcd0304 && memory[17] == 0xabcdabcd && memory[32] == 0x01020304,
       "and nothing between them");
    gives(cuMemcpyDtoH(&word, at + 4, sizeof(word)), CUDA_SUCCESS, "it is copied from as a GPU's");
    ok(word == 0xabcdabcd, "and what it holds comes");
    gives(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)other, memory, WORDS * 4, stream), CUDA_SUCCESS,
          "and to");
    CHECK(cuStreamSynchronize(stream));
    is_mem(other, memory, WORDS * 4, "all of it");
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFreeHost(other));
    CHECK(cuMemFreeHost(memory));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    allocated();
    registered();
    by_one_address();
    if (device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY))
        mapped(&gpu);
    else
        skip(2, "mapped host memory: the device says that it cannot");
    close_gpu(&gpu);
    return done();
}

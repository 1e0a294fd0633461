// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory: addresses are reserved; physical memory is created, mapped there and made
// accessible chunk by chunk. Adjacent chunks are one range for copies, sets and kernels.
#include "tests/programs/driver.h"

enum { CHUNKS = 4 };

static CUmemAllocationProp on_device(CUdevice device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
}

static CUmemAccessDesc access_of(CUdevice device, CUmemAccess_flags flags)
{
    return (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
}

static size_t free_memory(void)
{
    size_t left, total;
    CHECK(cuMemGetInfo(&left, &total));
    return left;
}

// A range whose chunks are mapped and open.
struct range {
    CUdeviceptr base;
    size_t chunk, size;
    CUdevice device;
    CUmemGenericAllocationHandle memory[CHUNKS];
};

static struct range make_range(CUdevice device)
{
    struct range range = {.device = device};
    CUmemAllocationProp prop = on_device(device);
    CUmemAccessDesc open = access_of(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemGetAllocationGranularity(&range.chunk, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    range.size = CHUNKS * range.chunk;
    CHECK(cuMemAddressReserve(&range.base, range.size, 0, 0, 0));
    for (int i = 0; i < CHUNKS; i++) {
        CHECK(cuMemCreate(&range.memory[i], range.chunk, &prop, 0));
        CHECK(cuMemMap(range.base + i * range.chunk, range.chunk, 0, range.memory[i], 0));
    }
    CHECK(cuMemSetAccess(range.base, range.size, &open, 1));
    return range;
}

static void end_range(struct range *range)
{
    CHECK(cuMemUnmap(range->base, range->size));
    for (int i = 0; i < CHUNKS; i++)
        CHECK(cuMemRelease(range->memory[i]));
    CHECK(cuMemAddressFree(range->base, range->size));
}

// ---- adjacent chunks are one range ----

static void check_copies(const struct range *range)
{
    unsigned char *there = must_alloc(range->size), *back = must_alloc(range->size);
    fill_random(there, range->size, 7);
    memset(back, 0, range->size);
    gives(cuMemcpyHtoD(range->base, there, range->size), CUDA_SUCCESS, "a copy to all chunks");
    gives(cuMemcpyDtoH(back, range->base, range->size), CUDA_SUCCESS, "and from all");
    ok(!memcmp(there, back, range->size), "brings the same bytes back");
    size_t edge = range->chunk - 6;
    memset(back, 0, 16);
    CHECK(cuMemcpyDtoH(back, range->base + edge, 12));
    ok(!memcmp(there + edge, back, 12), "a few bytes over the edge of two chunks");
    CUdeviceptr plain = device_alloc(range->size);
    CHECK(cuMemcpyDtoD(plain, range->base, range->size));
    CHECK(cuMemsetD8(range->base, 0x5a, range->size));
    CHECK(cuMemcpyDtoH(back, range->base + range->size - 1, 1));
    is_int(back[0], 0x5a, "memory is set to the end of the last chunk");
    CHECK(cuMemcpyDtoD(range->base, plain, range->size));
    CHECK(cuMemcpyDtoH(back, range->base, range->size));
    ok(!memcmp(there, back, range->size), "copies on the device join chunks as well");
    CHECK(cuMemFree(plain));
    gives(cuMemcpyDtoH(back, range->base + range->size - 8, 16), CUDA_ERROR_INVALID_VALUE,
          "a copy over the end is refused");
    free(there);
    free(back);
}

static void check_rectangle(const struct range *range)
{
    enum { ROWS = 64, WIDTH = 1000 };
    static unsigned char there[ROWS * WIDTH], back[ROWS * WIDTH];
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = there,
                          .srcPitch = WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = range->base + range->chunk - 32 * 1024,
                          .dstPitch = 1024,
                          .WidthInBytes = WIDTH,
                          .Height = ROWS};
    fill_random(there, sizeof(there), 8);
    gives(cuMemcpy2D(&copy), CUDA_SUCCESS, "a rectangle over the edge of two chunks");
    CUDA_MEMCPY2D other = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = copy.dstDevice,
                           .srcPitch = 1024,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = back,
                           .dstPitch = WIDTH,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS};
    CHECK(cuMemcpy2D(&other));
    ok(!memcmp(there, back, sizeof(there)), "comes back whole");
}

static void check_kernel(const struct gpu *gpu, const struct range *range)
{
    uint32_t n = (uint32_t)(range->size / 4), one = 1, got[2] = {0};
    CUdeviceptr data = range->base;
    CHECK(cuMemsetD32(data, 41, n));
    launch(kernel(gpu, "add"), (n + 255) / 256, 256, NULL, &data, &one, &n);
    CHECK(cuMemcpyDtoH(got, data + range->chunk - 4, 8));
    ok(got[0] == 42 && got[1] == 42, "a kernel goes from one chunk into the next");
    CHECK(cuMemcpyDtoH(got, data + range->size - 4, 4));
    is_int(got[0], 42, "and to the last byte");
}

// Chunks come while the stream has data on its way to others.
static void check_growing(const struct gpu *gpu, struct range *range)
{
    CUstream stream;
    CUmemAllocationProp prop = on_device(range->device);
    CUmemAccessDesc open = access_of(range->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr last = range->base + range->size - range->chunk;
    uint32_t n = (uint32_t)(2 * range->chunk / 4), one = 1, got[2] = {0}, wrong = 0;
    uint32_t *there = must_alloc(range->chunk);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (uint32_t round = 0; round < 8; round++) {
        CUdeviceptr both = last - range->chunk;
        CHECK(cuMemUnmap(last, range->chunk));
        CHECK(cuMemRelease(range->memory[CHUNKS - 1]));
        for (size_t i = 0; i < range->chunk / 4; i++)
            there[i] = round;
        CHECK(cuMemcpyHtoDAsync(both, there, range->chunk, stream));
        CHECK(cuMemCreate(&range->memory[CHUNKS - 1], range->chunk, &prop, 0));
        CHECK(cuMemMap(last, range->chunk, 0, range->memory[CHUNKS - 1], 0));
        CHECK(cuMemSetAccess(last, range->chunk, &open, 1));
        CHECK(cuMemsetD32Async(last, round, range->chunk / 4, stream));
        launch(kernel(gpu, "add"), (n + 255) / 256, 256, stream, &both, &one, &n);
        CHECK(cuMemcpyDtoHAsync(got, last - 4, 8, stream));
        CHECK(cuStreamSynchronize(stream));
        wrong += got[0] != round + 1 || got[1] != round + 1;
    }
    is_int(wrong, 0, "a range grows and shrinks between copies and kernels of a stream");
    CHECK(cuStreamDestroy(stream));
    free(there);
}

// ---- lives ----

static void check_lives(const struct range *range)
{
    CUmemAllocationProp prop = on_device(range->device);
    CUmemAccessDesc open = access_of(range->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle memory, again = 0;
    CUdeviceptr a, b;
    uint32_t got = 0;
    size_t size = 8 * range->chunk, before = free_memory();
    CHECK(cuMemAddressReserve(&a, size, 0, 0, 0));
    CHECK(cuMemAddressReserve(&b, size, 0, 0, 0));
    CHECK(cuMemCreate(&memory, size, &prop, 0));
    size_t made = free_memory();
    ok(before - made >= size && made < before, "what is made is taken, before it has an address");
    CHECK(cuMemMap(a, size, 0, memory, 0));
    CHECK(cuMemMap(b, size, 0, memory, 0));
    CHECK(cuMemSetAccess(a, size, &open, 1));
    CHECK(cuMemSetAccess(b, size, &open, 1));
    CHECK(cuMemsetD32(a, 0x12345678, size / 4));
    CHECK(cuMemcpyDtoH(&got, b + size - 4, 4));
    ok(got == 0x12345678, "memory that is mapped twice is the same memory");
    CHECK(cuMemRelease(memory));
    CHECK(cuMemUnmap(b, size));
    CHECK(cuMemcpyDtoH(&got, a, 4));
    ok(got == 0x12345678, "memory outlives its handle where it is mapped");
    gives(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(a + 77)), CUDA_SUCCESS,
          "and has one again for who asks");
    CHECK(cuMemMap(b, size, 0, again, 0));
    CHECK(cuMemSetAccess(b, size, &open, 1));
    CHECK(cuMemUnmap(a, size));
    CHECK(cuMemcpyDtoH(&got, b, 4));
    ok(got == 0x12345678, "with which it is mapped elsewhere");
    CHECK(cuMemRelease(again));
    ok(free_memory() + size / 2 < before, "it is taken while anything keeps it");
    CHECK(cuMemUnmap(b, size));
    ok(free_memory() >= before - range->chunk, "and given back with the last mapping");
    CHECK(cuMemAddressFree(a, size));
    CHECK(cuMemAddressFree(b, size));
}

static void check_access(const struct range *range)
{
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, range->device};
    CUmemAccessDesc open = access_of(range->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemAllocationProp prop = on_device(range->device);
    CUmemGenericAllocationHandle memory;
    unsigned long long flags = 99;
    CUdeviceptr address;
    uint32_t word = 0;
    CHECK(cuMemAddressReserve(&address, range->chunk, 0, 0, 0));
    gives(cuMemcpyDtoH(&word, address, 4), CUDA_ERROR_INVALID_VALUE,
          "nothing is where no memory is mapped");
    CHECK(cuMemCreate(&memory, range->chunk, &prop, 0));
    CHECK(cuMemMap(address, range->chunk, 0, memory, 0));
    CHECK(cuMemGetAccess(&flags, &here, address));
    is_int((int)flags, CU_MEM_ACCESS_FLAGS_PROT_NONE, "what is mapped is closed at first");
    CHECK(cuMemSetAccess(address, range->chunk, &open, 1));
    CHECK(cuMemGetAccess(&flags, &here, address));
    is_int((int)flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "and open when it was opened");
    CHECK(cuMemUnmap(address, range->chunk));
    gives(cuMemcpyDtoH(&word, address, 4), CUDA_ERROR_INVALID_VALUE,
          "no copy from what is unmapped");
    CHECK(cuMemRelease(memory));
    CHECK(cuMemAddressFree(address, range->chunk));
}

static void check_answers(const struct range *range)
{
    CUmemAllocationProp got;
    CUdeviceptr base = 0, second = range->base + range->chunk;
    size_t size = 0;
    int ordinal = -1;
    CHECK(cuMemGetAllocationPropertiesFromHandle(&got, range->memory[0]));
    ok(got.type == CU_MEM_ALLOCATION_TYPE_PINNED && got.location.id == range->device,
       "a handle says what it was made with");
    CHECK(cuMemGetAddressRange(&base, &size, second + 5));
    ok(base == second && size == range->chunk, "an address belongs to its chunk");
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, second));
    is_int(ordinal, range->device, "and to a device");
}

// ---- addresses that a module had before ----

static void check_after_a_module(const struct range *range)
{
    CUmemAllocationProp prop = on_device(range->device);
    CUmemAccessDesc open = access_of(range->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle memory;
    CUdeviceptr variable, address;
    unsigned char byte = 0;
    CHECK(cuModuleUnload(variable_module(4 * range->chunk, &variable)));
    CUdeviceptr wanted = (variable + range->chunk - 1) / range->chunk * range->chunk;
    CHECK(cuMemAddressReserve(&address, range->chunk, 0, wanted, 0));
    CHECK(cuMemCreate(&memory, range->chunk, &prop, 0));
    gives(cuMemMap(address, range->chunk, 0, memory, 0), CUDA_SUCCESS,
          "memory is mapped where a variable of an unloaded module was");
    CHECK(cuMemSetAccess(address, range->chunk, &open, 1));
    CHECK(cuMemsetD8(address, 0x3c, range->chunk));
    CHECK(cuMemcpyDtoH(&byte, address + range->chunk - 1, 1));
    is_int(byte, 0x3c, "and used");
    CHECK(cuMemUnmap(address, range->chunk));
    CHECK(cuMemRelease(memory));
    gives(cuMemAddressFree(address, range->chunk), CUDA_SUCCESS, "and given back");
    CHECK(cuModuleUnload(variable_module(4 * range->chunk, &variable)));
}

// ---- wrong calls are refused ----

static void check_refusals(const struct range *range)
{
    CUmemAllocationProp prop = on_device(range->device), wrong;
    CUmemAccessDesc open = access_of(range->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle memory, none;
    CUdeviceptr address, base = range->base;
    CHECK(cuMemCreate(&memory, range->chunk, &prop, 0));
    gives(cuMemCreate(&none, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE, "no memory of no bytes");
    gives(cuMemCreate(&none, 100, &prop, 0), CUDA_ERROR_INVALID_VALUE, "nor of a part of a page");
    gives(cuMemCreate(&none, (size_t)1 << 45, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY,
          "nor more than there is");
    wrong = on_device(99);
    gives(cuMemCreate(&none, range->chunk, &wrong, 0), CUDA_ERROR_INVALID_DEVICE,
          "nor of a device that is not there");
    gives(cuMemMap(base, range->chunk, 0, memory, 0), CUDA_ERROR_INVALID_VALUE,
          "nothing is mapped where something is");
    CHECK(cuMemAddressReserve(&address, range->chunk, 0, 0, 0));
    gives(cuMemMap(address, 2 * range->chunk, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED,
          "nor more than the memory has");
    gives(cuMemUnmap(address, range->chunk), CUDA_SUCCESS,
          "unmapping where nothing is mapped is no error");
    gives(cuMemSetAccess(address, range->chunk, &open, 1), CUDA_ERROR_INVALID_VALUE, "nor opened");
    gives(cuMemUnmap(base, range->chunk / 2), CUDA_ERROR_INVALID_VALUE,
          "a chunk is not unmapped in part");
    gives(cuMemAddressFree(base, range->size), CUDA_ERROR_INVALID_VALUE,
          "addresses are kept while something is mapped");
    gives(cuMemFree(base), CUDA_ERROR_INVALID_VALUE, "cuMemFree does not take what is mapped");
    gives(cuMemAddressFree(address, range->chunk), CUDA_SUCCESS, "addresses are given back");
    gives(cuMemAddressFree(address, range->chunk), CUDA_ERROR_INVALID_VALUE, "once");
    CHECK(cuMemRelease(memory));
    gives(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE, "so are handles");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
        skip_all("the device says that it has no virtual memory management");
    struct range range = make_range(gpu.device);
    check_copies(&range);
    check_rectangle(&range);
    check_kernel(&gpu, &range);
    check_growing(&gpu, &range);
    check_lives(&range);
    check_access(&range);
    check_answers(&range);
    check_after_a_module(&range);
    check_refusals(&range);
    end_range(&range);
    close_gpu(&gpu);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory of all kinds: cudaMallocHost, cudaHostAlloc (mapped, portable), cudaHostRegister.
#include <cstdlib>

#include "runtime.h"

__global__ void increment(unsigned *data, unsigned count)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i]++;
}

static const unsigned n = 70001;

static void through_device(unsigned *memory, const char *what)
{
    unsigned *data;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&data, n * 4));
    for (unsigned i = 0; i < n; i++)
        memory[i] = i * 5;
    CHECK(cudaMemcpyAsync(data, memory, n * 4, cudaMemcpyHostToDevice, stream));
    increment<<<8, 128, 0, stream>>>(data, n);
    CHECK(cudaMemcpyAsync(memory, data, n * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; i++)
        wrong += memory[i] != i * 5 + 1;
    is_int(wrong, 0, "%s: copied in, changed, copied out", what);
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    unsigned *memory;
    CHECK(cudaMallocHost(&memory, n * 4));
    through_device(memory, "cudaMallocHost");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, memory + 10));
    is_int(attributes.type, cudaMemoryTypeHost, "its pointers are known as host memory");
    ok(attributes.hostPointer == memory + 10, "at the host's address");
    CHECK(cudaFreeHost(memory));

    CHECK(cudaHostAlloc(&memory, n * 4, cudaHostAllocPortable | cudaHostAllocWriteCombined));
    through_device(memory, "cudaHostAlloc, portable and write-combined");
    unsigned flags = 0;
    CHECK(cudaHostGetFlags(&flags, memory));
    ok(flags & cudaHostAllocPortable, "keeps its flags");
    CHECK(cudaFreeHost(memory));

    memory = static_cast<unsigned *>(malloc(n * 4));
    CHECK(cudaPointerGetAttributes(&attributes, memory));
    is_int(attributes.type, cudaMemoryTypeUnregistered, "memory of malloc is not known");
    CHECK(cudaHostRegister(memory, n * 4, cudaHostRegisterDefault));
    CHECK(cudaPointerGetAttributes(&attributes, memory));
    is_int(attributes.type, cudaMemoryTypeHost, "but is once it is registered");
    through_device(memory, "cudaHostRegister");
    CHECK(cudaHostUnregister(memory));
    through_device(memory, "memory of malloc");
    free(memory);

    int can_map = 0;
    CHECK(cudaDeviceGetAttribute(&can_map, cudaDevAttrCanMapHostMemory, 0));
    unsigned *mapped = nullptr, *device_address = nullptr;
    cudaError_t result = cudaErrorNotSupported;
    if (can_map && (result = cudaHostAlloc(&mapped, n * 4, cudaHostAllocMapped)) == cudaSuccess)
        result = cudaHostGetDevicePointer(&device_address, mapped, 0);
    if (result == cudaErrorNotSupported) {
        skip(1, "mapped host memory: not supported over this transport");
    } else {
        CHECK(result);
        for (unsigned i = 0; i < n; i++)
            mapped[i] = i;
        increment<<<8, 128>>>(device_address, n);
        CHECK(cudaDeviceSynchronize());
        unsigned wrong = 0;
        for (unsigned i = 0; i < n; i++)
            wrong += mapped[i] != i + 1;
        is_int(wrong, 0, "a kernel worked in mapped host memory");
    }
    return done();
}

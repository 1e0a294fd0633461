// SPDX-License-Identifier: BSD-3-Clause
// Errors as the runtime shows them: of arguments, of launches, and the sticky one of a fault.
#include "runtime.h"

__global__ void store(int *address)
{
    *address = 1;
}

__global__ void nothing()
{
}

int main()
{
    void *memory;
    gives(cudaMalloc(&memory, size_t(1) << 50), cudaErrorMemoryAllocation, "too much memory");
    gives(cudaGetLastError(), cudaErrorMemoryAllocation, "is the last error");
    gives(cudaGetLastError(), cudaSuccess, "once");
    nothing<<<1, 5000>>>();
    ok(cudaGetLastError() != cudaSuccess, "a block that is too large");
    nothing<<<1, 32, 1 << 20>>>();
    gives(cudaGetLastError(), cudaErrorInvalidValue, "more shared memory than there is");
    nothing<<<1, 32>>>();
    gives(cudaDeviceSynchronize(), cudaSuccess, "a good launch after them");
    gives(cudaMemcpy(nullptr, nullptr, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
          "a copy from nowhere to nowhere");
    cudaGetLastError();

    CHECK(cudaMalloc(&memory, 4096));
    CHECK(cudaFree(memory));
    gives(cudaDeviceReset(), cudaSuccess, "the device can be reset");
    int *data;
    gives(cudaMalloc(&data, 4096), cudaSuccess, "and used again");
    store<<<1, 1>>>(data);
    int value = 0;
    gives(cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost), cudaSuccess, "with its kernels");
    is_int(value, 1, "which work");

    store<<<1, 1>>>(reinterpret_cast<int *>(0x1000));
    gives(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "a store to a bad address");
    gives(cudaGetLastError(), cudaErrorIllegalAddress, "is the last error");
    gives(cudaMalloc(&memory, 16), cudaErrorIllegalAddress, "whatever is called");
    ok(cudaGetErrorString(cudaErrorIllegalAddress) != nullptr, "it has a text");
    return done();
}

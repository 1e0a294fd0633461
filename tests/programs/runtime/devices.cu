// SPDX-License-Identifier: BSD-3-Clause
// Two devices in one program: cudaSetDevice, work on both, peer copies, and their properties.
#include "runtime.h"

__global__ void increment(unsigned *data, unsigned count)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i]++;
}

int main()
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2)
        skip_all("one device only");
    const unsigned n = 20000;
    std::vector<unsigned> in(n), out(n);
    unsigned *data[2], wrong = 0;
    for (unsigned i = 0; i < n; i++)
        in[i] = i * 9;
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&data[d], n * 4));
        CHECK(cudaMemcpy(data[d], in.data(), n * 4, cudaMemcpyHostToDevice));
        for (int i = 0; i <= d; i++)
            increment<<<4, 128>>>(data[d], n);
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMemcpy(out.data(), data[d], n * 4, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < n; i++)
            wrong += out[i] != i * 9 + 1 + d;
    }
    is_int(wrong, 0, "each device ran its kernels on its own data");
    CHECK(cudaMemcpyPeer(data[0], 0, data[1], 1, n * 4));
    CHECK(cudaSetDevice(0));
    increment<<<4, 128>>>(data[0], n);
    CHECK(cudaMemcpy(out.data(), data[0], n * 4, cudaMemcpyDeviceToHost));
    wrong = 0;
    for (unsigned i = 0; i < n; i++)
        wrong += out[i] != i * 9 + 3;
    is_int(wrong, 0, "what device 1 computed went to device 0 and on from there");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data[1]));
    is_int(attributes.device, 1, "a pointer knows its device");
    gives(cudaSetDevice(count), cudaErrorInvalidDevice, "there is no device past the last");
    cudaGetLastError();
    for (int d = 0; d < 2; d++)
        CHECK(cudaFree(data[d]));
    return done();
}

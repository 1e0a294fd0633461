// SPDX-License-Identifier: BSD-3-Clause
// Eight threads share the primary context, each with its own stream and data, and start at once.
#include <atomic>
#include <thread>

#include "runtime.h"

__global__ void mix(unsigned *data, unsigned value, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = (data[i] ^ value) + i;
}

static const unsigned n = 5000;
static std::atomic<unsigned> wrong{0}, failed{0};

static void work(unsigned number)
{
    std::vector<unsigned> in(n), out(n);
    random_numbers random(number);
    cudaStream_t stream;
    unsigned *data;
    for (auto &v : in)
        v = random.u32();
    failed += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
    for (int round = 0; round < 10; round++) {
        failed += cudaMalloc(&data, n * 4) != cudaSuccess;
        failed += cudaMemcpyAsync(data, in.data(), n * 4, cudaMemcpyDefault, stream) != cudaSuccess;
        mix<<<2, 128, 0, stream>>>(data, number, n);
        failed += cudaGetLastError() != cudaSuccess;
        failed += cudaMemcpyAsync(out.data(), data, n * 4, cudaMemcpyDefault, stream) !=
                  cudaSuccess;
        failed += cudaStreamSynchronize(stream) != cudaSuccess;
        for (unsigned i = 0; i < n; i++)
            wrong += out[i] != (in[i] ^ number) + i;
        failed += cudaFree(data) != cudaSuccess;
    }
    failed += cudaStreamDestroy(stream) != cudaSuccess;
}

int main()
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; i++)
        threads.emplace_back(work, i);
    for (auto &t : threads)
        t.join();
    is_int(failed, 0, "no call of eight threads failed");
    is_int(wrong, 0, "every thread got its own results");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Compiled with --default-stream per-thread: every thread's plain launches and copies go to a
// stream of its own, which waits for no other thread.
#include <thread>

#include "runtime.h"

__global__ void increment(unsigned *data, unsigned count)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i]++;
}

int main()
{
    const unsigned n = 1000;
    unsigned *data;
    std::vector<unsigned> out(n);
    CHECK(cudaMalloc(&data, n * 4));
    CHECK(cudaMemset(data, 0, n * 4));
    CHECK(cudaDeviceSynchronize());
    hold first(0); // the first launch of a kernel may wait for others
    first.release();
    increment<<<2, 128>>>(data, 0);
    CHECK(cudaStreamSynchronize(0));

    hold busy(0);
    unsigned wrong = 0;
    bool free_running = false;
    std::thread other([&] {
        increment<<<2, 128>>>(data, n);
        wrong += cudaMemcpy(out.data(), data, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess;
        free_running = true;
    });
    other.join();
    gives(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady,
          "another thread's default stream does not wait for this one's");
    busy.release();
    ok(free_running, "it went on by itself");
    for (unsigned i = 0; i < n; i++)
        wrong += out[i] != 1;
    is_int(wrong, 0, "and its result is right");
    increment<<<2, 128>>>(data, n);
    CHECK(cudaMemcpy(out.data(), data, n * 4, cudaMemcpyDeviceToHost));
    ok(out[0] == 2 && out[n - 1] == 2, "a copy waits for its own thread's kernels");
    CHECK(cudaFree(data));
    return done();
}

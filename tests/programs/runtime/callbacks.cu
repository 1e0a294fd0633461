// SPDX-License-Identifier: BSD-3-Clause
// cudaLaunchHostFunc and cudaStreamAddCallback between copies and kernels.
#include <atomic>

#include "runtime.h"

static const unsigned n = 3000;

__global__ void increment(unsigned *data, unsigned count)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i]++;
}

struct state {
    unsigned *buffer;
    std::atomic<int> calls{0};
    bool right = true;
    unsigned expected = 0;
};

static void CUDART_CB check_and_change(void *argument)
{
    auto *s = static_cast<state *>(argument);
    for (unsigned i = 0; i < n; i++) {
        s->right = s->right && s->buffer[i] == i + s->expected;
        s->buffer[i] = i + s->expected + 10;
    }
    s->calls++;
}

static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *argument)
{
    auto *s = static_cast<state *>(argument);
    s->right = s->right && status == cudaSuccess;
    check_and_change(argument);
}

int main()
{
    cudaStream_t stream;
    unsigned *data, *got = new unsigned[n];
    state first, second;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&data, n * 4));
    CHECK(cudaMallocHost(&first.buffer, n * 4));
    second.buffer = first.buffer;
    for (unsigned i = 0; i < n; i++)
        first.buffer[i] = i;
    first.expected = 1;   // after one kernel
    second.expected = 12; // after the function's ten and another kernel
    CHECK(cudaMemcpyAsync(data, first.buffer, n * 4, cudaMemcpyHostToDevice, stream));
    increment<<<4, 128, 0, stream>>>(data, n);
    CHECK(cudaMemcpyAsync(first.buffer, data, n * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, check_and_change, &first));
    CHECK(cudaMemcpyAsync(data, first.buffer, n * 4, cudaMemcpyHostToDevice, stream));
    increment<<<4, 128, 0, stream>>>(data, n);
    CHECK(cudaMemcpyAsync(first.buffer, data, n * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamAddCallback(stream, callback, &second, 0));
    CHECK(cudaMemcpyAsync(data, first.buffer, n * 4, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    ok(first.calls == 1 && second.calls == 1, "both were called once");
    ok(first.right, "the host function saw the kernel's result");
    ok(second.right, "the callback saw what followed from the host function's change");
    CHECK(cudaMemcpy(got, data, n * 4, cudaMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; i++)
        wrong += got[i] != i + 22;
    is_int(wrong, 0, "the device has what the callback left");
    CHECK(cudaFreeHost(first.buffer));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    delete[] got;
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Copies and kernels overlapping on several streams with events; default and per-thread streams.
#include "runtime.h"

__global__ void transform(unsigned *data, unsigned value, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = data[i] * 3 + value;
}

int main()
{
    const int streams = 3, chunks = 12;
    const unsigned n = 15000;
    unsigned *in, *out, *buffers[streams];
    cudaStream_t stream[streams];
    cudaEvent_t start, stop, done_event[streams];
    CHECK(cudaMallocHost(&in, n * chunks * 4));
    CHECK(cudaMallocHost(&out, n * chunks * 4));
    random_numbers random(5);
    for (unsigned i = 0; i < n * chunks; i++)
        in[i] = random.u32();
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&done_event[s], cudaEventDisableTiming));
        CHECK(cudaMalloc(&buffers[s], n * 4));
    }
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, stream[0]));
    for (int c = 0; c < chunks; c++) {
        int s = c % streams;
        CHECK(cudaMemcpyAsync(buffers[s], in + c * n, n * 4, cudaMemcpyHostToDevice, stream[s]));
        transform<<<4, 128, 0, stream[s]>>>(buffers[s], c, n);
        CHECK(cudaMemcpyAsync(out + c * n, buffers[s], n * 4, cudaMemcpyDeviceToHost, stream[s]));
    }
    for (int s = 1; s < streams; s++) {
        CHECK(cudaEventRecord(done_event[s], stream[s]));
        CHECK(cudaStreamWaitEvent(stream[0], done_event[s], 0));
    }
    CHECK(cudaEventRecord(stop, stream[0]));
    CHECK(cudaEventSynchronize(stop));
    unsigned wrong = 0;
    for (int c = 0; c < chunks; c++)
        for (unsigned i = 0; i < n; i++)
            wrong += out[c * n + i] != in[c * n + i] * 3 + c;
    is_int(wrong, 0, "one event stands for the work of all streams");
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    ok(ms > 0 && ms < 60000, "and tells how long it took");

    hold busy(stream[0]);
    CHECK(cudaEventRecord(stop, stream[0]));
    gives(cudaEventQuery(stop), cudaErrorNotReady, "an event behind a running kernel");
    gives(cudaStreamQuery(stream[0]), cudaErrorNotReady, "and its stream");
    gives(cudaStreamSynchronize(stream[1]), cudaSuccess, "other streams are free");
    gives(cudaEventQuery(stop), cudaErrorNotReady, "meanwhile");
    busy.release();
    gives(cudaDeviceSynchronize(), cudaSuccess, "the device can be waited for");
    gives(cudaEventQuery(stop), cudaSuccess, "then the event has happened");
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamDestroy(stream[s]));
        CHECK(cudaEventDestroy(done_event[s]));
        CHECK(cudaFree(buffers[s]));
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    return done();
}

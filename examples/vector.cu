// SPDX-License-Identifier: BSD-3-Clause
// Scales and adds two vectors, checks every number, and prints the rate of the copies. It is an
// ordinary CUDA program; build it with:  nvcc -o vector vector.cu
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t result_ = (call);                                                      \
        if (result_ != cudaSuccess) {                                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_));               \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

__global__ void saxpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

template <typename F> static double rate(size_t bytes, F copy)
{
    double best = 0; // best of three, because the first copy touches new memory
    for (int i = 0; i < 3; i++) {
        auto start = std::chrono::steady_clock::now();
        copy();
        std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        best = std::fmax(best, bytes / spent.count() / 1e9);
    }
    return best;
}

int main()
{
    const int n = 4 << 20;
    const size_t size = n * sizeof(float);
    std::vector<float> x(n), y(n), result(n);
    for (int i = 0; i < n; i++) {
        x[i] = float(i % 1000) / 8;
        y[i] = float(i % 77);
    }
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    bool right = true;
    for (int d = 0; d < devices; d++) {
        cudaDeviceProp properties;
        float *dx, *dy, *pinned;
        CHECK(cudaSetDevice(d));
        CHECK(cudaGetDeviceProperties(&properties, d));
        CHECK(cudaMalloc(&dx, size));
        CHECK(cudaMalloc(&dy, size));
        CHECK(cudaMallocHost(&pinned, size));
        double to = rate(2 * size, [&] {
            CHECK(cudaMemcpy(dx, x.data(), size, cudaMemcpyHostToDevice));
            CHECK(cudaMemcpy(dy, y.data(), size, cudaMemcpyHostToDevice));
        });
        saxpy<<<(n + 255) / 256, 256>>>(dy, dx, 2.0f, n);
        CHECK(cudaDeviceSynchronize());
        double from = rate(size, [&] {
            CHECK(cudaMemcpy(result.data(), dy, size, cudaMemcpyDeviceToHost));
        });
        memset(pinned, 1, size);
        double pinned_to = rate(size, [&] {
            CHECK(cudaMemcpy(dx, pinned, size, cudaMemcpyHostToDevice));
        });
        double pinned_from = rate(size, [&] {
            CHECK(cudaMemcpy(pinned, dx, size, cudaMemcpyDeviceToHost));
        });
        int wrong = 0;
        for (int i = 0; i < n; i++)
            wrong += result[i] != 2.0f * x[i] + y[i];
        printf("device %d: %s: %d numbers, %d wrong\n", d, properties.name, n, wrong);
        printf("device %d: GB/s to and from the GPU: %.2f %.2f pageable, %.2f %.2f pinned\n", d,
               to, from, pinned_to, pinned_from);
        right = right && wrong == 0;
        CHECK(cudaFree(dx));
        CHECK(cudaFree(dy));
        CHECK(cudaFreeHost(pinned));
    }
    return right && devices > 0 ? 0 : 1;
}

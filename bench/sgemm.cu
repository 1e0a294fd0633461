// SPDX-License-Identifier: BSD-3-Clause
// Measures SGEMM by cuBLAS as a program uses it (allocation, copies from and to pageable memory,
// product), and cublasCreate. Prints one JSON line per figure, like bench/measure.c.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        if (int result_ = int(call)) {                                                           \
            fprintf(stderr, "%s gave %d\n", #call, result_);                                     \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

static double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static void figure(const char *name, std::vector<double> &samples)
{
    std::sort(samples.begin(), samples.end());
    printf("{\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"us\", \"samples\": %zu}\n", name,
           samples[samples.size() / 2] * 1e6, samples.size());
    fflush(stdout);
}

int main()
{
    cublasHandle_t handle;
    std::vector<double> samples;
    CHECK(cudaFree(nullptr));
    double start = now();
    CHECK(cublasCreate(&handle));
    samples.push_back(now() - start);
    figure("cublasCreate", samples);
    for (int n : {256, 1024, 2048, 4096}) {
        size_t count = size_t(n) * n, size = count * 4;
        std::vector<float> a(count), b(count), c(count);
        for (size_t i = 0; i < count; i++)
            a[i] = float(i % 7), b[i] = float(i % 5);
        samples.clear();
        double end = 0;
        for (int round = 0; round < 4 || now() < end; round++) {
            float *da, *db, *dc, one = 1, zero = 0;
            start = now();
            CHECK(cudaMalloc(&da, size));
            CHECK(cudaMalloc(&db, size));
            CHECK(cudaMalloc(&dc, size));
            CHECK(cudaMemcpy(da, a.data(), size, cudaMemcpyHostToDevice));
            CHECK(cudaMemcpy(db, b.data(), size, cudaMemcpyHostToDevice));
            CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, n, db, n, &zero,
                              dc, n));
            CHECK(cudaMemcpy(c.data(), dc, size, cudaMemcpyDeviceToHost));
            CHECK(cudaFree(da));
            CHECK(cudaFree(db));
            CHECK(cudaFree(dc));
            if (round)
                samples.push_back(now() - start);
            else
                end = now() + 0.3;
        }
        double want = 0;
        for (int k = 0; k < n; k++)
            want += double(a[k * size_t(n) + 3]) * b[5 * size_t(n) + k];
        if (c[5 * size_t(n) + 3] - want > 1e-3 * want ||
            want - c[5 * size_t(n) + 3] > 1e-3 * want) {
            fprintf(stderr, "n = %d: wrong result\n", n);
            return 1;
        }
        char name[64];
        snprintf(name, sizeof name, "sgemm n=%d", n);
        figure(name, samples);
    }
    CHECK(cublasDestroy(handle));
    return 0;
}

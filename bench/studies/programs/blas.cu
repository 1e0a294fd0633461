// SPDX-License-Identifier: BSD-3-Clause
// Measures matrix products by cuBLAS as programs use them; prints one JSON line per figure.
//
//   blas whole s|d N   allocation, copies from and to pageable memory, one product; the product
//                      alone
//   blas many N        64 products of N by N: one by one, batched and strided
//   blas calls         the cost of a call: submission, call with wait, creation of a handle
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static cublasHandle_t handle;

static double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static void figure(const char *name, double value, const char *unit)
{
    printf("{\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name, value, unit);
    fflush(stdout);
}

// Returns the median time of `once` in seconds. A first call, which loads code, does not count.
template <class Once> static double median(int most, double enough, Once once)
{
    std::vector<double> samples;
    once();
    double begin = now();
    do {
        double start = now();
        once();
        samples.push_back(now() - start);
    } while (int(samples.size()) < most && now() - begin < enough);
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

static cublasStatus_t gemm(int n, const float *a, const float *b, float *c)
{
    float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}
static cublasStatus_t gemm(int n, const double *a, const double *b, double *c)
{
    double one = 1, zero = 0;
    return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}

// Checks one number of the product against the host's result.
template <class T> static void check(int n, const std::vector<T> &a, const std::vector<T> &b, const std::vector<T> &c)
{
    size_t row = size_t(n) * 2 / 3, column = size_t(n) / 2;
    double want = 0, got = double(c[column * n + row]);
    for (size_t k = 0; k < size_t(n); k++)
        want += double(a[k * n + row]) * double(b[column * n + k]);
    if (got - want > 1e-3 * want || want - got > 1e-3 * want) {
        fprintf(stderr, "n = %d: %g instead of %g\n", n, got, want);
        exit(1);
    }
}

template <class T> static void whole(int n, const char *name)
{
    size_t count = size_t(n) * n, size = count * sizeof(T);
    std::vector<T> a(count), b(count), c(count);
    for (size_t i = 0; i < count; i++)
        a[i] = T(i % 7), b[i] = T(i % 5 + 1);
    T *da, *db, *dc;
    char alone[64];
    double all = median(n > 8000 ? 2 : 15, 0.5, [&] {
        CHECK(cudaMalloc(&da, size));
        CHECK(cudaMalloc(&db, size));
        CHECK(cudaMalloc(&dc, size));
        CHECK(cudaMemcpy(da, a.data(), size, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(db, b.data(), size, cudaMemcpyHostToDevice));
        CHECK(gemm(n, da, db, dc));
        CHECK(cudaMemcpy(c.data(), dc, size, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(da));
        CHECK(cudaFree(db));
        CHECK(cudaFree(dc));
    });
    check(n, a, b, c);
    figure(name, all * 1e3, "ms");
    CHECK(cudaMalloc(&da, size));
    CHECK(cudaMalloc(&db, size));
    CHECK(cudaMalloc(&dc, size));
    CHECK(cudaMemcpy(da, a.data(), size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), size, cudaMemcpyHostToDevice));
    double product = median(15, 0.2, [&] {
        CHECK(gemm(n, da, db, dc));
        CHECK(cudaDeviceSynchronize());
    });
    snprintf(alone, sizeof alone, "%s, the product alone", name);
    figure(alone, product * 1e3, "ms");
}

static void many(int n)
{
    const int times = 64;
    size_t count = size_t(n) * n;
    std::vector<float> a(count * times), c(count);
    std::vector<const float *> as, bs;
    std::vector<float *> cs;
    const float **das, **dbs;
    float *da, *dc, **dcs, one = 1, zero = 0;
    for (size_t i = 0; i < a.size(); i++)
        a[i] = float(i % 7);
    CHECK(cudaMalloc(&da, a.size() * 4));
    CHECK(cudaMalloc(&dc, a.size() * 4));
    CHECK(cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
    for (int i = 0; i < times; i++)
        as.push_back(da + i * count), bs.push_back(da + (times - 1 - i) * count),
            cs.push_back(dc + i * count);
    CHECK(cudaMalloc(&das, times * sizeof *das));
    CHECK(cudaMalloc(&dbs, times * sizeof *dbs));
    CHECK(cudaMalloc(&dcs, times * sizeof *dcs));
    CHECK(cudaMemcpy(das, as.data(), times * sizeof *das, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dbs, bs.data(), times * sizeof *dbs, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dcs, cs.data(), times * sizeof *dcs, cudaMemcpyHostToDevice));
    double single = median(50, 0.2, [&] {
        for (int i = 0; i < times; i++)
            CHECK(gemm(n, as[i], bs[i], cs[i]));
        CHECK(cudaDeviceSynchronize());
    });
    double batched = median(50, 0.2, [&] {
        CHECK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, das, n, dbs, n, &zero, dcs, n, times));
        CHECK(cudaDeviceSynchronize());
    });
    CHECK(cudaMemcpy(c.data(), dc + 5 * count, count * 4, cudaMemcpyDeviceToHost));
    check(n, std::vector<float>(a.begin() + 5 * count, a.begin() + 6 * count),
          std::vector<float>(a.begin() + (times - 6) * count, a.begin() + (times - 5) * count), c);
    double strided = median(50, 0.2, [&] {
        CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, n, (long long)count, da, n,
                                        (long long)count, &zero, dc, n, (long long)count, times));
        CHECK(cudaDeviceSynchronize());
    });
    figure("one by one", single * 1e3, "ms");
    figure("batched", batched * 1e3, "ms");
    figure("strided", strided * 1e3, "ms");
}

static void calls()
{
    const int n = 64, times = 1000;
    float *a, *c, got = 0;
    cublasHandle_t another;
    CHECK(cudaMalloc(&a, n * n * 4));
    CHECK(cudaMalloc(&c, n * n * 4));
    CHECK(cudaMemset(a, 0, n * n * 4));
    double issue = 0;
    double together = median(20, 0.3, [&] {
        double start = now();
        for (int i = 0; i < times; i++)
            CHECK(gemm(n, a, a, c));
        issue = now() - start;
        CHECK(cudaDeviceSynchronize());
    });
    figure("product of 64, issued", issue / times * 1e6, "us");
    figure("product of 64, one of 1000", together / times * 1e6, "us");
    figure("product of 64, waited for", 1e6 * median(500, 0.2, [&] {
        CHECK(gemm(n, a, a, c));
        CHECK(cudaDeviceSynchronize());
    }), "us");
    figure("dot product to the host", 1e6 * median(500, 0.2, [&] {
        CHECK(cublasSdot(handle, n, a, 1, a, 1, &got));
    }), "us");
    figure("a handle made and ended", 1e3 * median(3, 2, [&] {
        CHECK(cublasCreate(&another));
        CHECK(cublasDestroy(another));
    }), "ms");
}

int main(int count, char **arguments)
{
    double start = now();
    int n = count > 2 ? atoi(arguments[count - 1]) : 0;
    CHECK(cudaFree(nullptr));
    CHECK(cublasCreate(&handle));
    double ready = now() - start;
    if (count == 4 && !strcmp(arguments[1], "whole") && n > 0) {
        if (arguments[2][0] == 'd')
            whole<double>(n, "DGEMM");
        else
            whole<float>(n, "SGEMM");
    } else if (count == 3 && !strcmp(arguments[1], "many") && n > 0) {
        many(n);
    } else if (count == 2 && !strcmp(arguments[1], "calls")) {
        figure("start until the first handle", ready * 1e3, "ms");
        calls();
    } else {
        fprintf(stderr, "usage: blas whole s|d N | many N | calls\n");
        return 2;
    }
    CHECK(cublasDestroy(handle));
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// cuBLAS SGEMM as a program does it: create, allocate, copy from pageable memory, multiply, copy
// back, for several sizes; random places of the result are checked against the CPU.
#include <cmath>
#include <cublas_v2.h>

#include "runtime.h"

static void run(cublasHandle_t handle, int n)
{
    size_t count = size_t(n) * n;
    random_numbers random(n);
    std::vector<float> a(count), b(count), c(count);
    for (size_t i = 0; i < count; i++) {
        a[i] = random.f32();
        b[i] = random.f32();
    }
    float *da, *db, *dc, one = 1, zero = 0;
    CHECK(cudaMalloc(&da, count * 4));
    CHECK(cudaMalloc(&db, count * 4));
    CHECK(cudaMalloc(&dc, count * 4));
    CHECK(cudaMemcpy(da, a.data(), count * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), count * 4, cudaMemcpyHostToDevice));
    cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, n, db,
                                        n, &zero, dc, n);
    is_int(status, CUBLAS_STATUS_SUCCESS, "n = %d: cublasSgemm succeeds", n);
    CHECK(cudaMemcpy(c.data(), dc, count * 4, cudaMemcpyDeviceToHost));
    double worst = 0;
    int places = n < 64 ? n * n : 2000;
    for (int p = 0; p < places; p++) {
        int row = n < 64 ? p % n : int(random.u32() % n), col = n < 64 ? p / n : int(random.u32() % n);
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += double(a[k * size_t(n) + row]) * b[col * size_t(n) + k];
        worst = std::fmax(worst, std::fabs(sum - c[col * size_t(n) + row]));
    }
    ok(worst < 1e-5 * n, "n = %d: agrees with the CPU", n);
    if (!(worst < 1e-5 * n))
        diag("largest difference %g", worst);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
}

int main()
{
    cublasHandle_t handle;
    cublasStatus_t status = cublasCreate(&handle);
    is_int(status, CUBLAS_STATUS_SUCCESS, "cublasCreate succeeds");
    if (status != CUBLAS_STATUS_SUCCESS)
        return done();
    for (int n : {1, 17, 64, 256, 1000, 1024, 2048, 4096})
        run(handle, n);
    is_int(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS, "cublasDestroy succeeds");
    return done();
}

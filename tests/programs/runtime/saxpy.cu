// SPDX-License-Identifier: BSD-3-Clause
// SAXPY in single and double precision from one template, with constants in a symbol.
#include <cmath>

#include "runtime.h"

__constant__ float scale;
__device__ unsigned launches;

template <typename T> __global__ void saxpy(T *y, const T *x, T a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
    if (i == 0)
        atomicAdd(&launches, 1u);
}

__global__ void rescale(float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = sqrtf(fabsf(y[i])) * scale;
}

template <typename T> static void run(unsigned n, const char *name)
{
    random_numbers random(n);
    std::vector<T> x(n), y(n), got(n);
    const T a = T(1.75);
    for (unsigned i = 0; i < n; i++) {
        x[i] = random.f32();
        y[i] = random.f32();
    }
    T *dx, *dy;
    CHECK(cudaMalloc(&dx, n * sizeof(T)));
    CHECK(cudaMalloc(&dy, n * sizeof(T)));
    CHECK(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dy, y.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(dy, dx, a, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), dy, n * sizeof(T), cudaMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; i++)
        wrong += got[i] != std::fma(a, x[i], y[i]);
    is_int(wrong, 0, "%u numbers of type %s", n, name);
    CHECK(cudaFree(dx));
    CHECK(cudaFree(dy));
}

int main()
{
    run<float>(50001, "float");
    run<double>(50001, "double");
    unsigned count = 0;
    CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
    is_int(count, 2, "a device variable counted both launches");

    const unsigned n = 5000;
    float value = 3.0f, *data;
    std::vector<float> in(n), out(n);
    random_numbers random(1);
    for (auto &f : in)
        f = random.f32();
    CHECK(cudaMemcpyToSymbol(scale, &value, sizeof value));
    CHECK(cudaMalloc(&data, n * 4));
    CHECK(cudaMemcpy(data, in.data(), n * 4, cudaMemcpyDefault));
    rescale<<<20, 256>>>(data, n);
    CHECK(cudaMemcpy(out.data(), data, n * 4, cudaMemcpyDefault));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; i++)
        wrong += std::fabs(out[i] - std::sqrt(std::fabs(in[i])) * 3.0f) > 1e-5f;
    is_int(wrong, 0, "a kernel used the constant set by the host");
    CHECK(cudaFree(data));

    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    diag("%s, %d.%d", properties.name, properties.major, properties.minor);
    ok(properties.totalGlobalMem > 0 && properties.warpSize == 32, "the device has properties");
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// NVRTC: CUDA C++ compiled while the program runs, loaded and launched through the Driver API.
#include <cuda.h>
#include <nvrtc.h>

#include "runtime.h"

static const char source[] = R"(
extern "C" __global__ void squares(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = i * i;
}
)";

int main()
{
    CHECK(cudaFree(nullptr));
    nvrtcProgram program;
    const char *options[] = {"--gpu-architecture=compute_75"};
    if (nvrtcCreateProgram(&program, source, "squares.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
        bail("nvrtcCreateProgram");
    is_int(nvrtcCompileProgram(program, 1, options), NVRTC_SUCCESS, "a text is compiled");
    size_t size = 0;
    nvrtcGetPTXSize(program, &size);
    std::vector<char> ptx(size);
    nvrtcGetPTX(program, ptx.data());
    nvrtcDestroyProgram(&program);

    cudaLibrary_t library;
    cudaKernel_t kernel;
    const int n = 1000;
    int *data;
    std::vector<int> out(n);
    CHECK(cudaLibraryLoadData(&library, ptx.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "squares"));
    CHECK(cudaMalloc(&data, n * 4));
    int count = n;
    void *arguments[] = {&data, &count};
    CHECK(cudaLaunchKernel((const void *)kernel, dim3(8), dim3(128), arguments, 0, 0));
    CHECK(cudaMemcpy(out.data(), data, n * 4, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += out[i] != i * i;
    is_int(wrong, 0, "and its kernel computes");
    CHECK(cudaLibraryUnload(library));
    CHECK(cudaFree(data));
    return done();
}

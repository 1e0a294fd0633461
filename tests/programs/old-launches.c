// SPDX-License-Identifier: BSD-3-Clause
// Programs of CUDA 3: shape and parameters are set on the function, which is launched with a grid.
#include <stddef.h>

#include "tests/programs/driver.h"

CUresult cuFuncSetBlockShape(CUfunction, int, int, int);
CUresult cuFuncSetSharedSize(CUfunction, unsigned);
CUresult cuParamSetSize(CUfunction, unsigned);
CUresult cuParamSeti(CUfunction, int, unsigned);
CUresult cuParamSetf(CUfunction, int, float);
CUresult cuParamSetv(CUfunction, int, void *, unsigned);
CUresult cuLaunch(CUfunction);
CUresult cuLaunchGrid(CUfunction, int, int);
CUresult cuLaunchGridAsync(CUfunction, int, int, CUstream);

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry count(.param .u64 to, .param .u32 each, .param .f32 scale) {\n"
    " .reg .u64 %d<3>; .reg .u32 %r<3>; .reg .f32 %f<3>;\n"
    " ld.param.u64 %d1,[to]; cvta.to.global.u64 %d2,%d1; ld.param.u32 %r1,[each]; ld.param.f32 %f1,[scale];\n"
    " cvt.rn.f32.u32 %f2,%r1; mul.f32 %f2,%f2,%f1; cvt.rni.u32.f32 %r2,%f2; red.global.add.u32 [%d2],%r2; ret; }\n";

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr sum = device_alloc(4);
    CUmodule module;
    CUfunction count;
    CUstream stream;
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&count, module, "count"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(sum, 0, 1));
    CHECK(cuParamSetSize(count, 16));
    CHECK(cuParamSetv(count, 0, &sum, 8));
    CHECK(cuParamSeti(count, 8, 3));
    CHECK(cuParamSetf(count, 12, 2.0f));
    CHECK(cuLaunch(count));
    is_int(word_at(sum), 6, "one thread runs, unless a shape says otherwise");
    CHECK(cuFuncSetBlockShape(count, 4, 2, 1));
    CHECK(cuFuncSetSharedSize(count, 64));
    CHECK(cuLaunchGrid(count, 5, 2));
    is_int(word_at(sum), 6 + 6 * 80, "a grid of such blocks");
    CHECK(cuParamSeti(count, 8, 1));
    CHECK(cuLaunchGridAsync(count, 1, 1, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(word_at(sum), 486 + 16, "parameters stay until they are set anew, also in a stream");
    if (getenv("RGPU_BOXES")) { // a driver writes there
        gives(cuParamSetv(count, 4090, &sum, 8), CUDA_ERROR_INVALID_VALUE,
              "beyond 4 KiB is no room");
        gives(cuParamSeti(count, -4, 1), CUDA_ERROR_INVALID_VALUE, "nor before the first");
    }
    struct {
        CUdeviceptr to;
        unsigned each;
        float scale, more;
    } block = {.to = sum, .each = 5, .scale = 1.0f};
    size_t size = sizeof block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    gives(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
          CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "more parameters than a kernel has");
    size = offsetof(__typeof__(block), more);
    gives(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS,
          "and as many as it has, packed");
    is_int(word_at(sum), 502 + 5, "are what it finds");
    gives(cuFuncSetBlockShape(count, 1024, 2, 1), CUDA_ERROR_INVALID_VALUE, "a block too large");
    gives(cuLaunchGrid(count, 0, 1), CUDA_ERROR_INVALID_VALUE, "a grid of nothing");
    gives(cuLaunch((CUfunction)&gpu), CUDA_ERROR_INVALID_HANDLE, "what is no function");
    CHECK(cuModuleUnload(module));
    CHECK(cuMemFree(sum));
    close_gpu(&gpu);
    return done();
}

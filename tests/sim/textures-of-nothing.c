// SPDX-License-Identifier: BSD-3-Clause
// Textures over unallocated memory or without rows, and views of parts of cubes: they are refused
// or make the kernel fault, and never read memory outside the program's.
#include "tests/programs/driver.h"
#include "tests/programs/texture_calls.h"

static const char reader[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
                             ".visible .entry reader(.param .u64 t, .param .u64 out)\n"
                             "{\n.reg .b64 %rd<3>; .reg .f32 %f<6>;\n"
                             "ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [out];\n"
                             "mov.f32 %f1, 0f3F000000;\n"
                             "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1, %f1}];\n"
                             "st.global.f32 [%rd2], %f2;\nret;\n}\n";

static CUtexObject pitched(CUdeviceptr memory, size_t height)
{
    CUtexObject texture = 0;
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    r.res.pitch2D.devPtr = memory;
    r.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 8;
    r.res.pitch2D.height = height;
    r.res.pitch2D.pitchInBytes = 512;
    CHECK(cuTexObjectCreate(&texture, &r, &t, NULL));
    return texture;
}

// In a context of its own, which a fault ends.
static CUresult read_once(CUdevice device, CUdeviceptr at, size_t height)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUtexObject texture;
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, reader));
    CHECK(cuModuleGetFunction(&function, module, "reader"));
    CUdeviceptr memory = device_alloc(4096);
    texture = pitched(at ? at : memory, height);
    launch(function, 1, 1, NULL, &texture, &memory);
    CUresult result = cuCtxSynchronize();
    CHECK(cuCtxDestroy(context));
    return result;
}

static void parts_of_cubes(void)
{
    CUtexObject texture = 0;
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4,
                                 .Height = 4,
                                 .Depth = 12,
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 1,
                                 .Flags = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED};
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_NORMALIZED_COORDINATES};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                 .width = 4,
                                 .height = 4,
                                 .depth = 12,
                                 .lastLayer = 2};
    CHECK(cuArray3DCreate(&array, &d));
    r.res.array.hArray = array;
    gives(cuTexObjectCreate(&texture, &r, &t, &v), CUDA_ERROR_INVALID_VALUE, "half a cube");
    v.lastLayer = 5;
    gives(cuTexObjectCreate(&texture, &r, &t, &v), CUDA_SUCCESS, "a whole cube of two");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuArrayDestroy(array));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    gives(read_once(gpu.device, 0, 4), CUDA_SUCCESS, "four rows");
    gives(read_once(gpu.device, 4096, 0), CUDA_ERROR_ILLEGAL_ADDRESS,
          "no rows, of memory that is not there");
    gives(read_once(gpu.device, 4096, 4), CUDA_ERROR_ILLEGAL_ADDRESS, "memory that is not there");
    gives(read_once(gpu.device, 0, 60000), CUDA_ERROR_ILLEGAL_ADDRESS, "more rows than there are");
    CHECK(cuCtxSetCurrent(gpu.context));
    parts_of_cubes();
    close_gpu(&gpu);
    return done();
}

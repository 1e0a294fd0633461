// SPDX-License-Identifier: BSD-3-Clause
// Images: the linker, JIT logs and options, images that are broken, and libraries.
#include "tests/programs/driver.h"

static char caller[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                       ".extern .func (.param .b32 result) triple(.param .b32 x);\n"
                       ".visible .entry apply(.param .u64 out, .param .u32 x)\n"
                       "{\n"
                       "    .reg .b32 %r<4>;\n"
                       "    .reg .b64 %rd<4>;\n"
                       "    .param .b32 argument;\n"
                       "    .param .b32 result;\n"
                       "    ld.param.u64 %rd1, [out];\n"
                       "    ld.param.u32 %r1, [x];\n"
                       "    cvta.to.global.u64 %rd2, %rd1;\n"
                       "    st.param.b32 [argument], %r1;\n"
                       "    call (result), triple, (argument);\n"
                       "    ld.param.b32 %r2, [result];\n"
                       "    st.global.u32 [%rd2], %r2;\n"
                       "    ret;\n"
                       "}\n";

static char callee[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                       ".visible .func (.param .b32 result) triple(.param .b32 x)\n"
                       "{\n"
                       "    .reg .b32 %r<4>;\n"
                       "    ld.param.u32 %r1, [x];\n"
                       "    mul.lo.u32 %r2, %r1, 3;\n"
                       "    st.param.b32 [result], %r2;\n"
                       "    ret;\n"
                       "}\n";

static void links(void)
{
    static char info[4096], errors[4096];
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)sizeof info, errors, (void *)sizeof errors};
    CUlinkState state;
    void *image;
    size_t size = 0;
    CUmodule module;
    CUfunction apply;
    CHECK(cuLinkCreate(4, options, values, &state));
    gives(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller.ptx", 0, NULL,
                        NULL),
          CUDA_SUCCESS, "the linker takes a caller");
    gives(cuLinkAddData(state, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee.ptx", 0, NULL,
                        NULL),
          CUDA_SUCCESS, "and a callee");
    gives(cuLinkComplete(state, &image, &size), CUDA_SUCCESS, "and links them");
    ok(size > 0, "to an image");
    CHECK(cuModuleLoadData(&module, image));
    gives(cuLinkDestroy(state), CUDA_SUCCESS, "which stays when the linker is gone");
    CHECK(cuModuleGetFunction(&apply, module, "apply"));
    CUdeviceptr out = device_alloc(4);
    unsigned x = 14, got = 0;
    launch(apply, 1, 1, NULL, &out, &x);
    CHECK(cuMemcpyDtoH(&got, out, 4));
    is_int(got, 42, "a kernel calls a function of another text");
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));

    CHECK(cuLinkCreate(4, options, values, &state));
    CUresult result =
        cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller.ptx", 0, NULL, NULL);
    if (result == CUDA_SUCCESS)
        result = cuLinkComplete(state, &image, &size);
    ok(result != CUDA_SUCCESS, "a caller without its callee is not linked");
    diag("%s; %s", result_name(result), errors);
    CHECK(cuLinkDestroy(state));
}

static void broken_images(void)
{
    static char errors[4096];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {errors, (void *)sizeof errors};
    CUmodule module;
    static const char wrong[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                ".visible .entry k()\n{\n    add.u32 %%r1 5;\n    ret;\n}\n";
    static const char unknown[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                  ".visible .entry k()\n{\n    .reg .u32 %r<2>;\n"
                                  "    nonsense.u32 %r1, 5;\n    ret;\n}\n";
    gives(cuModuleLoadDataEx(&module, wrong, 2, options, values), CUDA_ERROR_INVALID_PTX,
          "PTX with a wrong line");
    diag("log: %s", errors);
    ok(strstr(errors, "line 6") != NULL, "the log names the line");
    ok((size_t)values[1] > 0 && (size_t)values[1] <= sizeof errors, "and its size comes back");

    values[1] = (void *)sizeof errors;
    CUresult result = cuModuleLoadDataEx(&module, unknown, 2, options, values);
    ok(result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NOT_SUPPORTED,
       "PTX with an instruction that nobody knows: %s", result_name(result));
    ok(strstr(errors, "nonsense") != NULL, "the log names it");
    diag("log: %s", errors);

    errors[0] = 0;
    values[1] = (void *)(size_t)16;
    cuModuleLoadDataEx(&module, wrong, 2, options, values);
    ok(memchr(errors, 0, 16) != NULL, "a log is cut to a small buffer");

    gives(cuModuleLoadData(&module, "This is a sentence."), CUDA_ERROR_INVALID_IMAGE,
          "text that is no PTX");
    static const unsigned char elf[128] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
    result = cuModuleLoadData(&module, elf);
    ok(result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           result == CUDA_ERROR_INVALID_SOURCE || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
       "an ELF that holds nothing gives %s", result_name(result));
    gives(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE, "no image");

    CUfunction function;
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    gives(cuModuleGetFunction(&function, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND,
          "a kernel that is not there");
    CUdeviceptr address;
    size_t size;
    gives(cuModuleGetGlobal(&address, &size, module, "no_such_global"), CUDA_ERROR_NOT_FOUND,
          "a global that is not there");
    CHECK(cuModuleUnload(module));
}

static void libraries(void)
{
    CUlibrary library;
    CUkernel kernel_handle;
    CUfunction function;
    CUdeviceptr data = device_alloc(400);
    unsigned n = 100, one = 1;
    uint32_t got[100];
    CHECK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    gives(cuLibraryGetKernel(&kernel_handle, library, "add"), CUDA_SUCCESS,
          "a library has a kernel");
    CHECK(cuMemsetD32(data, 0, n));
    launch((CUfunction)kernel_handle, 1, 128, NULL, &data, &one, &n);
    CHECK(cuKernelGetFunction(&function, kernel_handle));
    launch(function, 1, 128, NULL, &data, &one, &n);
    CHECK(cuMemcpyDtoH(got, data, 400));
    ok(got[0] == 2 && got[99] == 2, "launched by its own handle and as a function");
    gives(cuLibraryGetKernel(&kernel_handle, library, "no_such_kernel"), CUDA_ERROR_NOT_FOUND,
          "a kernel that is not there");
    CUdeviceptr counter;
    size_t size = 0;
    uint32_t value = 0;
    CHECK(cuLibraryGetGlobal(&counter, &size, library, "counter"));
    CHECK(cuMemcpyDtoH(&value, counter, 4));
    ok(size == 4 && value == 7, "a library has its global with its first value");
    gives(cuLibraryUnload(library), CUDA_SUCCESS, "it can be unloaded");
    CHECK(cuMemFree(data));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    links();
    broken_images();
    libraries();
    close_gpu(&gpu);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
// Libraries and their kernels: found without a context, loaded into each at first use, with
// variables of their own there; and the linker.
#include "tests/sim/sim_test.h"

static void check_kernels(CUlibrary library)
{
    unsigned count = 0, known = 0;
    CUkernel kernel, all[64];
    const char *name = NULL;
    size_t offset = 1, size = 0;
    CHECK(cuLibraryGetKernelCount(&count, library));
    ok(count > 0 && count <= 64, "a library counts its kernels (%u)", count);
    CHECK(cuLibraryEnumerateKernels(all, count, library));
    CHECK(cuLibraryGetKernel(&kernel, library, "saxpy"));
    for (unsigned i = 0; i < count; i++)
        known += all[i] == kernel;
    is_int(known, 1, "and lists them");
    CHECK(cuKernelGetName(&name, kernel));
    is_str(name, "saxpy", "a kernel knows its name");
    CHECK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
    ok(offset == 8 && size == 8, "and its parameters");
    int registers = 0;
    CHECK(cuKernelGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
    ok(registers >= 16, "and its registers (%d)", registers);
    gives(cuLibraryGetKernel(&kernel, library, "saxpi"), CUDA_ERROR_NOT_FOUND,
          "one that is not there is not found");
    CUfunction function;
    gives(cuKernelGetFunction(&function, all[0]), CUDA_ERROR_INVALID_CONTEXT,
          "a function needs a context");
}

static void check_contexts(CUlibrary library)
{
    CUcontext a, b;
    CUdeviceptr in_a, in_b;
    CUfunction function_a, function_b;
    CUkernel kernel;
    CUmodule module;
    size_t size;
    CHECK(cuLibraryGetKernel(&kernel, library, "poke"));
    CHECK(cuCtxCreate_v2(&a, 0, 0));
    CHECK(cuLibraryGetGlobal(&in_a, &size, library, "counter"));
    CHECK(cuKernelGetFunction(&function_a, kernel));
    CHECK(cuLibraryGetModule(&module, library));
    CHECK(cuCtxCreate_v2(&b, 0, 1));
    CHECK(cuLibraryGetGlobal(&in_b, &size, library, "counter"));
    CHECK(cuKernelGetFunction(&function_b, kernel));
    ok(in_a != in_b && function_a != function_b, "each context has its own copy");
    uint32_t value = 41, seen = 0;
    // A kernel is launched as if it were a function; the context decides which one that is.
    launch((CUfunction)kernel, 1, 1, NULL, &in_b, &value);
    CHECK(cuMemcpyDtoH(&seen, in_b, 4));
    is_int(seen, 41, "a kernel is launched by its own handle");
    CHECK(cuCtxSetCurrent(a));
    CHECK(cuMemcpyDtoH(&seen, in_a, 4));
    is_int(seen, 7, "and the other context keeps its value");
    CHECK(cuCtxDestroy(a));
    CHECK(cuCtxSetCurrent(b));
    gives(cuFuncGetName((const char **)&in_a, function_a), CUDA_ERROR_INVALID_HANDLE,
          "a function goes with its context");
    CHECK(cuLibraryUnload(library));
    gives(cuFuncGetName((const char **)&in_a, function_b), CUDA_ERROR_INVALID_HANDLE,
          "or with its library");
    CHECK(cuCtxDestroy(b));
}

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

static void check_linker(void)
{
    char first[] = HEADER ".extern .global .align 4 .u32 shared_word;\n"
                          ".visible .entry set()\n{\n  .reg .b32 %r<2>;\n  mov.u32 %r1, 77;\n"
                          "  st.global.u32 [shared_word], %r1;\n  ret;\n}\n";
    char second[] = HEADER ".visible .global .align 4 .u32 shared_word;\n";
    CUcontext context;
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    CUdeviceptr address;
    void *image;
    size_t size;
    uint32_t word = 0;
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuLinkCreate(0, NULL, NULL, &state));
    CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, first, sizeof(first), "first", 0, NULL, NULL));
    CUlinkState lonely = state;
    gives(cuLinkComplete(lonely, &image, &size), CUDA_ERROR_INVALID_PTX,
          "a name that nobody defines is an error");
    CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, second, sizeof(second), "second", 0, NULL, NULL));
    gives(cuLinkComplete(state, &image, &size), CUDA_SUCCESS, "until somebody does");
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(state));
    CHECK(cuModuleGetFunction(&function, module, "set"));
    launch(function, 1, 1, NULL, NULL);
    CHECK(cuModuleGetGlobal(&address, &size, module, "shared_word"));
    CHECK(cuMemcpyDtoH(&word, address, 4));
    is_int(word, 77, "and the parts work together");
    CHECK(cuCtxDestroy(context));
}

int main(void)
{
    CUlibrary library;
    sim_isolate("2", "256M");
    CHECK(cuInit(0));
    CHECK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    check_kernels(library);
    check_contexts(library);
    check_linker();
    return done();
}

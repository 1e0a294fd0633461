// SPDX-License-Identifier: BSD-3-Clause
// Loading code: refused images, their errors and log texts; the attributes of a module's functions
// and variables.
#include "tests/sim/sim_test.h"

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

static char error_log[2048], info_log[2048];

// Loads with logs; the number of bytes in the error log in *used.
static CUresult load(CUmodule *module, const void *image, size_t *used)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME};
    void *values[] = {error_log, (void *)sizeof(error_log), info_log, (void *)sizeof(info_log),
                      (void *)-1};
    memset(error_log, 'x', sizeof(error_log));
    CUresult result = cuModuleLoadDataEx(module, image, 5, options, values);
    float time;
    uint32_t bits = (uint32_t)(uintptr_t)values[4];
    memcpy(&time, &bits, sizeof(time));
    ok(time >= 0 && time < 60000, "the compiler's time is told (%.3f ms)", (double)time);
    *used = (uint32_t)(uintptr_t)values[1];
    return result;
}

static void refused(const void *image, CUresult want, const char *word, const char *what)
{
    CUmodule module;
    size_t used;
    gives(load(&module, image, &used), want, "%s is refused", what);
    ok(used > 0 && used < sizeof(error_log) && error_log[used] == '\0' && strstr(error_log, word),
       "and the log says \"%s\"", word);
    diag("log: %.*s", (int)strcspn(error_log, "\n"), error_log);
}

static void check_refusals(void)
{
    CUmodule module;
    refused(HEADER ".visible .entry f()\n{\n  add.s32 %r1, %r2;\n}\n", CUDA_ERROR_INVALID_PTX, "%r",
            "PTX with an error");
    refused(HEADER ".visible .entry f()\n{\n  .reg .b32 %r<2>;\n"
                   "  frobnicate.b32 %r1, 1;\n  ret;\n}\n",
            CUDA_ERROR_INVALID_PTX, "frobnicate", "an instruction that does not exist");
    refused(".version 42.0\n.target sm_90\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            "42", "PTX of the future");
    refused("this is no code", CUDA_ERROR_INVALID_IMAGE, "image", "something else");
    gives(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE, "no image is no image");
    gives(cuModuleLoad(&module, "/nonexistent/x.ptx"), CUDA_ERROR_FILE_NOT_FOUND,
          "a file that is not there");
    // The start of an ELF object for a GPU: machine 190.
    static const unsigned char elf[64] = {0x7f, 'E',  'L',      'F',        2,        1,
                                          1,    0x33, [16] = 2, [18] = 190, [20] = 1, [52] = 64};
    refused(elf, CUDA_ERROR_NO_BINARY_FOR_GPU, "PTX", "machine code");
}

static void check_contents(void)
{
    CUmodule module;
    CUfunction function;
    size_t used, size = 0, offset = 1;
    unsigned count = 0;
    int value = 0;
    const char *name = NULL;
    CUdeviceptr address = 0;
    gives(load(&module, kernels_ptx, &used), CUDA_SUCCESS, "a module is loaded");
    is_int(used, 0, "and the error log is empty");
    CHECK(cuModuleGetFunctionCount(&count, module));
    ok(count >= 10, "it has functions (%u)", count);
    CHECK(cuModuleGetFunction(&function, module, "saxpy"));
    CHECK(cuFuncGetName(&name, function));
    is_str(name, "saxpy", "which know their names");
    CHECK(cuFuncGetParamInfo(function, 3, &offset, &size));
    ok(offset == 20 && size == 4, "and where their parameters are");
    gives(cuFuncGetParamInfo(function, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE,
          "and how many they have");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    is_int(value, 1024, "and how large a block may be");
    gives(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000),
          CUDA_SUCCESS, "more shared memory can be asked for");
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    is_int(value, 100000, "and is granted");
    gives(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000),
          CUDA_ERROR_INVALID_VALUE, "within bounds");
    gives(cuModuleGetFunction(&function, module, "saxpi"), CUDA_ERROR_NOT_FOUND,
          "a function that is not there");
    CHECK(cuModuleGetGlobal(&address, &size, module, "counter"));
    uint32_t word = 0;
    CHECK(cuMemcpyDtoH(&word, address, 4));
    ok(size == 4 && word == 7, "variables have their size and first value");
    CHECK(cuModuleUnload(module));
    gives(cuMemcpyDtoH(&word, address, 4), CUDA_ERROR_INVALID_VALUE,
          "and go when the module is unloaded");
    gives(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE, "which happens once");
}

int main(void)
{
    sim_isolate("1", "256M");
    sim_context(0);
    check_refusals();
    check_contents();
    return done();
}

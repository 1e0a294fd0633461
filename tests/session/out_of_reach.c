// SPDX-License-Identifier: BSD-3-Clause
// A program that lets a GPU touch page-locked memory of its own: by its pointer for the device, by
// its address as a parameter of a kernel, or by its address in memory of the GPU, where a kernel
// finds it; hidden: the address comes there by halves. usage: out-of-reach
// pointer|kernel|copied|hidden
#include "tests/programs/driver.h"

enum { N = 32 };

// Stores 1 where the pointer at its parameter points to.
static const char hidden_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry hidden(.param .u64 where)\n{\n"
                                 ".reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n"
                                 "ld.param.u64 %rd1, [where];\n"
                                 "ld.global.u64 %rd2, [%rd1];\n"
                                 "mov.u32 %r1, 1;\n"
                                 "st.global.u32 [%rd2], %r1;\n"
                                 "ret;\n}\n";

static void store_by_copy(CUdeviceptr address, size_t step)
{
    CUmodule module;
    CUfunction hidden;
    CUdeviceptr where = device_alloc(sizeof(address));
    CHECK(cuModuleLoadData(&module, hidden_ptx));
    CHECK(cuModuleGetFunction(&hidden, module, "hidden"));
    for (size_t at = 0; at < sizeof(address); at += step)
        CHECK(cuMemcpyHtoD(where + at, (char *)&address + at, step));
    launch(hidden, 1, 1, NULL, &where);
}

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr address = 0;
    unsigned *words, value = 1, n = N;
    const char *way = argc == 2 ? argv[1] : "";
    CHECK(cuMemHostAlloc((void **)&words, N * sizeof(*words), CU_MEMHOSTALLOC_DEVICEMAP));
    if (strcmp(way, "pointer") == 0) {
        printf("pointer: %s\n", result_name(cuMemHostGetDevicePointer(&address, words, 0)));
        return 0;
    }
    address = (CUdeviceptr)(uintptr_t)words;
    if (strcmp(way, "copied") == 0)
        store_by_copy(address, sizeof(address));
    else if (strcmp(way, "hidden") == 0)
        store_by_copy(address, sizeof(address) / 2);
    else
        launch(kernel(&gpu, "add"), 1, N, NULL, &address, &value, &n);
    CUresult result = cuCtxSynchronize();
    printf("%s: %s %u\n", way, result_name(result), words[0]);
    return 0;
}

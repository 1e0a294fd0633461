// SPDX-License-Identifier: BSD-3-Clause
// Managed variables of modules and libraries: the host finds them at the address that the driver
// returns, with the initial values of the image.
#include "tests/programs/driver.h"

#include <string.h>

enum { TABLE = 30000 };

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 4 .u32 total = 7;\n"
    ".visible .global .attribute(.managed) .align 4 .b8 table[120000];\n"
    ".visible .global .align 4 .u32 plain = 3;\n"
    ".visible .entry step()\n{\n"
    ".reg .u32 %r<6>;\n.reg .u64 %d<6>;\n"
    "mov.u64 %d1, total;\n"
    "atom.global.add.u32 %r1, [%d1], 1;\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r2, %r2, %r3, %r4;\n"
    "mul.wide.u32 %d2, %r2, 4;\nmov.u64 %d3, table;\nadd.u64 %d3, %d3, %d2;\n"
    "ld.global.u32 %r5, [%d3];\nadd.u32 %r5, %r5, %r2;\nst.global.u32 [%d3], %r5;\n"
    "ret;\n}\n";

static uint32_t *variable(CUmodule module, const char *name, size_t want)
{
    CUdeviceptr address;
    size_t size;
    CHECK(cuModuleGetGlobal(&address, &size, module, name));
    is_int(size, want, "%s has its size", name);
    return (uint32_t *)(uintptr_t)address;
}

static void step(CUmodule module)
{
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, "step"));
    CHECK(cuLaunchKernel(function, TABLE / 100, 1, 1, 100, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

static void used_by_both(CUmodule module)
{
    uint32_t *total = variable(module, "total", 4), *table = variable(module, "table", 4 * TABLE);
    unsigned int managed = 0;
    size_t wrong = 0;
    CHECK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                (CUdeviceptr)(uintptr_t)total));
    ok(managed == 1, "the variable is managed");
    is_int(*total, 7, "the host reads what the image gave it");
    step(module);
    is_int(*total, 7 + TABLE, "and what a kernel made of it");
    for (uint32_t i = 0; i < TABLE; i++)
        wrong += table[i] != i;
    is_int(wrong, 0, "a table that a kernel filled");
    memset(table, 0, 4 * TABLE);
    *total = 100;
    step(module);
    ok(*total == 100 + TABLE && table[TABLE - 1] == TABLE - 1,
       "a kernel goes on from what the host wrote");
}

static void libraries(void)
{
    CUlibrary library;
    CUdeviceptr managed = 0, global = 0, plain;
    size_t size = 0;
    CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetManaged(&managed, &size, library, "total"));
    CHECK(cuLibraryGetGlobal(&global, NULL, library, "total"));
    ok(managed == global && size == 4, "a library's variable has one address");
    is_int(*(uint32_t *)(uintptr_t)managed, 7, "and its own contents");
    gives(cuLibraryGetManaged(&plain, &size, library, "plain"), CUDA_ERROR_NOT_FOUND,
          "one that is not managed is not found as such");
    gives(cuLibraryGetManaged(&plain, &size, library, "absent"), CUDA_ERROR_NOT_FOUND,
          "nor is one that is not there");
    CHECK(cuLibraryUnload(library));
}

int main(void)
{
    CUmodule first, second;
    struct gpu gpu = open_gpu(0);
    CHECK(cuModuleLoadData(&first, text));
    used_by_both(first);
    CHECK(cuModuleLoadData(&second, text));
    used_by_both(second);
    libraries();
    uint32_t *total = variable(first, "total", 4);
    *total = 5;
    CHECK(cuModuleUnload(second));
    step(first);
    is_int(*total, 5 + TABLE, "the end of another module leaves a variable as it is");
    CHECK(cuModuleUnload(first));
    // Other kinds of memory may take the variables' addresses.
    for (int i = 0; i < 20; i++) {
        CUdeviceptr memory = device_alloc(300000);
        uint32_t word = 0;
        CHECK(cuMemsetD32(memory, 9, 75000));
        CHECK(cuMemcpyDtoH(&word, memory + 4 * 70000, 4));
        if (word != 9)
            ok(false, "memory that took the place of variables is that of the GPU");
    }
    close_gpu(&gpu);
    return done();
}

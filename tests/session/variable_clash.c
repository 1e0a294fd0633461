// SPDX-License-Identifier: BSD-3-Clause
// A module's variable lies where the GPU's driver puts it, which may be where this process has
// memory of its own. Memory that the program asks for does not: small memory neither, of which the
// driver gives piece after piece.
#include <sys/mman.h>

#include "tests/programs/driver.h"

enum { SIZE = 1 << 20, OWN = 1 << 30 };

static const char source[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .global .align 8 .b8 variable[1048576];\n";

static CUdeviceptr load_variable(CUmodule *module)
{
    CUdeviceptr at = 0;
    size_t size = 0;
    CHECK(cuModuleLoadData(module, source));
    gives(cuModuleGetGlobal(&at, &size, *module, "variable"), CUDA_SUCCESS,
          "a variable has an address");
    is_int((int)size, SIZE, "and its size");
    return at;
}

// Both SIDES of memory that the driver has just given become the program's own; then it asks for
// more.
static void allocate_where_the_program_is(void)
{
    enum { SIDE = 256 << 20, SMALL = 512, COUNT = 40 };
    CUdeviceptr first, more[COUNT];
    CHECK(cuMemAlloc(&first, SMALL));
    char *middle = (char *)(uintptr_t)(first & ~4095ull);
    int mine = 0, well = 0;
    for (char *page = middle - SIDE; page < middle + SIDE; page += SIDE / 64)
        mine += mmap(page, SIDE / 64, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                     0) == page;
    ok(mine > 64, "this process has memory around that of the GPU");
    for (int i = 0; i < COUNT; i++)
        well += cuMemAlloc(&more[i], SMALL) == CUDA_SUCCESS;
    is_int(well, COUNT, "and gets more of the GPU's");
    for (int i = 0; i < well; i++)
        CHECK(cuMemFree(more[i]));
    CHECK(cuMemFree(first));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUmodule first, second;
    CUdeviceptr at = load_variable(&first);
    // The next one follows it closely.
    char *start = (char *)(uintptr_t)((at + SIZE + 4095) & ~4095ull);
    char *own = mmap(start, OWN, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    ok(own == start, "this process has memory behind it");
    at = load_variable(&second);
    char *there = (char *)(uintptr_t)at;
    ok(there >= own && there < own + OWN, "where the next variable is");
    unsigned char *bytes = must_alloc(SIZE), *back = must_alloc(SIZE);
    fill_random(bytes, SIZE, 1);
    memset(own, 7, 4096);
    gives(cuMemcpyHtoD(at, bytes, SIZE), CUDA_SUCCESS, "it can be written");
    gives(cuMemcpyDtoH(back, at, SIZE), CUDA_SUCCESS, "and read");
    is_mem(back, bytes, SIZE, "with what was written");
    ok(own[0] == 7 && there[0] == (there < own + 4096 ? 7 : 0),
       "and this process's memory is as it was");
    CHECK(cuModuleUnload(second));
    CHECK(cuModuleUnload(first));
    allocate_where_the_program_is();
    free(bytes);
    free(back);
    close_gpu(&gpu);
    return done();
}

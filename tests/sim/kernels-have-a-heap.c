// SPDX-License-Identifier: BSD-3-Clause
// malloc and free in kernels: memory that lasts from one launch to the next, up to the limit that
// the context sets.
#include "tests/sim/sim_test.h"

static const char heap_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".extern .func (.param .b64 result) malloc(.param .b64 size);\n"
                               ".extern .func free(.param .b64 pointer);\n"
                               ".visible .entry take(.param .u64 out, .param .u64 size)\n"
                               "{\n"
                               "  .reg .b64 %rd<4>;\n"
                               "  .reg .b32 %r<2>;\n"
                               "  .reg .pred %p<2>;\n"
                               "  ld.param.u64 %rd1, [out];\n"
                               "  ld.param.u64 %rd2, [size];\n"
                               "  {\n"
                               "  .param .b64 a;\n"
                               "  .param .b64 b;\n"
                               "  st.param.b64 [a], %rd2;\n"
                               "  call.uni (b), malloc, (a);\n"
                               "  ld.param.b64 %rd3, [b];\n"
                               "  }\n"
                               "  st.global.u64 [%rd1], %rd3;\n"
                               "  setp.eq.s64 %p1, %rd3, 0;\n"
                               "  @%p1 bra END;\n"
                               "  mov.u32 %r1, 99;\n"
                               "  st.u32 [%rd3], %r1;\n"
                               "END:\n"
                               "  ret;\n"
                               "}\n"
                               ".visible .entry give(.param .u64 out, .param .u64 pointer)\n"
                               "{\n"
                               "  .reg .b64 %rd<3>;\n"
                               "  .reg .b32 %r<2>;\n"
                               "  ld.param.u64 %rd1, [out];\n"
                               "  ld.param.u64 %rd2, [pointer];\n"
                               "  ld.u32 %r1, [%rd2];\n"
                               "  st.global.u32 [%rd1], %r1;\n"
                               "  {\n"
                               "  .param .b64 a;\n"
                               "  st.param.b64 [a], %rd2;\n"
                               "  call.uni free, (a);\n"
                               "  }\n"
                               "  ret;\n"
                               "}\n";

static CUfunction take, give;
static CUdeviceptr result;

static uint64_t allocate(uint64_t size)
{
    uint64_t address = 1;
    launch(take, 1, 1, NULL, &result, &size);
    CHECK(cuMemcpyDtoH(&address, result, 8));
    return address;
}

static uint32_t release(uint64_t address)
{
    uint32_t word = 0;
    launch(give, 1, 1, NULL, &result, &address);
    CHECK(cuMemcpyDtoH(&word, result, 4));
    return word;
}

int main(void)
{
    CUmodule module;
    size_t limit = 0;
    sim_isolate("1", "256M");
    sim_context(0);
    CHECK(cuModuleLoadData(&module, heap_ptx));
    CHECK(cuModuleGetFunction(&take, module, "take"));
    CHECK(cuModuleGetFunction(&give, module, "give"));
    result = device_alloc(16);
    CHECK(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    is_int(limit, 8 << 20, "the heap has 8 MiB at first");
    uint64_t first = allocate(6 << 20);
    ok(first, "a kernel gets memory");
    is_int(allocate(6 << 20), 0, "but not more than there is");
    is_int(release(first), 99, "a later kernel finds what the first one wrote, and frees it");
    ok(allocate(6 << 20), "then there is memory again");
    CHECK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
    ok(allocate(20 << 20), "and more when the limit is raised");
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "all is well");
    return done();
}

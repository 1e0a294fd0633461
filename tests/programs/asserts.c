// SPDX-License-Identifier: BSD-3-Clause
// The line that a failing assertion of a kernel writes arrives on the program's own standard error
// before the call that reports the failure returns.
#include <unistd.h>

#include "tests/programs/driver.h"

// assert(threadIdx.x < limit), as the compiler has it.
static const char asserting_ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    "                           .param .b64 e);\n"
    ".global .align 1 .b8 function[16] = {118, 111, 105, 100, 32, 102, 97, 105, 108, 115, 40, 105,\n"
    "                                     110, 116, 41};\n"
    ".global .align 1 .b8 text[20] = {116, 104, 114, 101, 97, 100, 73, 100, 120, 46, 120, 32, 60,\n"
    "                                 32, 108, 105, 109, 105, 116};\n"
    ".global .align 1 .b8 file[5] = {97, 46, 99, 117};\n"
    ".visible .entry fails(.param .u32 limit)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<7>;\n"
    "    ld.param.u32 %r1, [limit];\n"
    "    mov.u32 %r2, %tid.x;\n"
    "    setp.lt.u32 %p1, %r2, %r1;\n"
    "    @%p1 bra DONE;\n"
    "    mov.u64 %rd1, text;\n    cvta.global.u64 %rd2, %rd1;\n"
    "    mov.u64 %rd3, file;\n    cvta.global.u64 %rd4, %rd3;\n"
    "    mov.u64 %rd5, function;\n    cvta.global.u64 %rd6, %rd5;\n"
    "    {\n"
    "    .param .b64 param0;\n    st.param.b64 [param0+0], %rd2;\n"
    "    .param .b64 param1;\n    st.param.b64 [param1+0], %rd4;\n"
    "    .param .b32 param2;\n    st.param.b32 [param2+0], 7;\n"
    "    .param .b64 param3;\n    st.param.b64 [param3+0], %rd6;\n"
    "    .param .b64 param4;\n    st.param.b64 [param4+0], 1;\n"
    "    call.uni __assertfail, (param0, param1, param2, param3, param4);\n"
    "    }\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

static int file, saved;

static void take_standard_error(void)
{
    char path[] = "/tmp/rgpu-asserts.XXXXXX";
    saved = dup(STDERR_FILENO);
    file = mkstemp(path);
    if (file < 0 || saved < 0)
        bail("no temporary file");
    unlink(path);
    dup2(file, STDERR_FILENO);
}

// Returns what has been written meanwhile.
static const char *give_back_standard_error(void)
{
    static char text[65536];
    dup2(saved, STDERR_FILENO);
    ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUmodule module;
    CUfunction fails;
    int limit = 3;
    CHECK(cuModuleLoadData(&module, asserting_ptx));
    CHECK(cuModuleGetFunction(&fails, module, "fails"));
    launch(fails, 1, 3, NULL, &limit);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "an assertion that holds is no failure");
    take_standard_error();
    launch(fails, 1, 4, NULL, &limit);
    CUresult result = cuCtxSynchronize();
    const char *text = give_back_standard_error();
    gives(result, CUDA_ERROR_ASSERT, "one that does not is");
    for (int thread = 0; thread < 4; thread++) {
        char line[120];
        snprintf(line, sizeof(line),
                 "a.cu:7: void fails(int): block: [0,0,0], thread: [%d,0,0] Assertion "
                 "`threadIdx.x < limit` failed.\n",
                 thread);
        ok((strstr(text, line) != NULL) == (thread >= 3), "thread %d %s", thread,
           thread < 3 ? "says nothing" : "says so on standard error");
    }
    gives(cuDevicePrimaryCtxReset(gpu.device), CUDA_SUCCESS, "the context can be reset");
    return done();
}

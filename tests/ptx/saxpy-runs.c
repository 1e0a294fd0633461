// SPDX-License-Identifier: BSD-3-Clause
// The smallest useful kernel, over many blocks, with a tail that is not a whole warp.
#include "tests/ptx/engine.h"

static const char text[] = PTX_HEAD
    ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n"
    ".reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "ld.param.u32 %r2, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x];\n"
    "ld.param.u64 %rd2, [y];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "mad.lo.s32 %r1, %r3, %r4, %r5; setp.ge.s32 %p1, %r1, %r2; @%p1 bra $L_end;\n"
    "cvta.to.global.u64 %rd3, %rd2; cvta.to.global.u64 %rd4, %rd1;\n"
    "mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5; ld.global.f32 %f2, [%rd6];\n"
    "add.s64 %rd7, %rd3, %rd5; ld.global.f32 %f3, [%rd7]; fma.rn.f32 %f4, %f2, %f1, %f3;\n"
    "st.global.f32 [%rd7], %f4;\n"
    "$L_end: ret; }\n";

int main(void)
{
    struct ptx_module *m = engine_load(text);
    enum { N = 100003 };
    float *x = gpu_alloc(N * 4), *y = gpu_alloc(N * 4);
    struct {
        int n;
        float a;
        uint64_t x, y;
    } params = {N, 2.5f, (uintptr_t)x, (uintptr_t)y};
    unsigned wrong = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(i % 7);
    }
    is_int(engine_launch(m, "saxpy", (struct launch_shape){(N + 255) / 256, 256, 0}, &params), 0,
           "the launch succeeds");
    for (int i = 0; i < N; i++)
        wrong += y[i] != fmaf((float)i, 2.5f, (float)(i % 7));
    is_int(wrong, 0, "every element is right");
    ptx_module_free(&m);
    gpu_free_all();
    return done();
}

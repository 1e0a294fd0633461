// SPDX-License-Identifier: BSD-3-Clause
// Every atomic operation, from many blocks at once, in global, shared and generic memory.
#include "tests/ptx/engine.h"

#define THREADS (16 * 128)

// One launch of `op` by all threads on one cell. %r1 and %rd1 hold the thread's number.
static uint64_t run(const char *op, uint64_t start)
{
    char text[4096];
    struct ptx_module *m;
    uint64_t *cell, value;
    int result;

    snprintf(text, sizeof(text),
             PTX_HEAD
             ".visible .entry k(.param .u64 cell) {\n"
             ".reg .b32 %%r<8>; .reg .b64 %%rd<8>; .reg .f32 %%f<4>; .reg .f64 %%d<4>;\n"
             ".reg .b16 %%h<4>; .reg .pred %%p<4>;\n"
             "ld.param.u64 %%rd2, [cell]; mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%tid.x;\n"
             "mad.lo.u32 %%r1, %%r1, 128, %%r2; cvt.u64.u32 %%rd1, %%r1;\n"
             "cvt.rn.f32.u32 %%f1, %%r1; cvt.rn.f64.u32 %%d1, %%r1;\n%s\nret; }\n",
             op);
    m = engine_load(text);
    cell = gpu_alloc(16);
    cell[0] = start;
    struct {
        void *cell;
    } params = {cell};
    result = engine_launch(m, "k", (struct launch_shape){16, 128, 0}, &params);
    value = cell[0];
    if (result)
        diag("%s: %d %s", op, result, engine_fault.text);
    ptx_module_free(&m);
    gpu_free_all();
    return value;
}

static void check(const char *op, uint64_t start, uint64_t want)
{
    uint64_t got = run(op, start);

    if (!ok(got == want, "%s", op))
        diag("got 0x%llx, want 0x%llx", (unsigned long long)got, (unsigned long long)want);
}

int main(void)
{
    uint64_t sum = (uint64_t)THREADS * (THREADS - 1) / 2;
    float f = (float)sum, half = 0.5f * THREADS;
    double d = (double)sum;
    uint32_t fbits, hbits;
    uint64_t dbits;

    memcpy(&fbits, &f, 4);
    memcpy(&hbits, &half, 4);
    memcpy(&dbits, &d, 8);
    check("atom.global.add.u32 %r3, [%rd2], %r1;", 0, sum);
    check("atom.add.s32 %r3, [%rd2], -1;", 0, (uint32_t)-THREADS);
    check("atom.global.add.u64 %rd3, [%rd2], %rd1;", 1, sum + 1);
    check("red.global.add.f64 [%rd2], %d1;", 0, dbits);
    check("red.relaxed.gpu.global.add.f32 [%rd2], 0f3F000000;", 0, hbits);
    check("atom.global.add.noftz.f16x2 %r3, [%rd2], 0x3C003C00;", 0, 0x68006800);
    check("atom.global.min.u32 %r3, [%rd2], %r1;", 77, 0);
    check("atom.global.max.u32 %r3, [%rd2], %r1;", 77, THREADS - 1);
    check("neg.s32 %r1, %r1; atom.global.min.s32 %r3, [%rd2], %r1;", 5, (uint32_t) - (THREADS - 1));
    check("neg.s32 %r1, %r1; atom.global.max.s32 %r3, [%rd2], %r1;", (uint32_t)-9, 0);
    check("atom.global.max.u64 %rd3, [%rd2], %rd1;", 0, THREADS - 1);
    check("neg.s64 %rd1, %rd1; atom.global.min.s64 %rd3, [%rd2], %rd1;", 5,
          (uint64_t) - (int64_t)(THREADS - 1));
    check("atom.global.inc.u32 %r3, [%rd2], 99;", 0, THREADS % 100);
    check("atom.global.dec.u32 %r3, [%rd2], 99;", 0, (100 - THREADS % 100) % 100);
    check("atom.global.or.b32 %r3, [%rd2], %r1;", 0, THREADS - 1);
    check("atom.global.and.b32 %r3, [%rd2], %r1;", UINT32_MAX, 0);
    check("atom.global.xor.b32 %r3, [%rd2], 1;", 4, 4);
    check("atom.global.xor.b64 %rd3, [%rd2], %rd1;", 1, 1);
    check("and.b32 %r4, %r1, 7; setp.eq.u32 %p1, %r4, 3; @%p1 red.global.add.u32 [%rd2], 1;", 0,
          THREADS / 8);
    // Exchange and compare-and-swap: what goes in comes out once.
    check("atom.global.exch.b32 %r3, [%rd2], 1; add.u64 %rd2, %rd2, 4;"
          "red.global.add.u32 [%rd2], %r3;",
          0, 1 | (uint64_t)(THREADS - 1) << 32);
    check("L: ld.volatile.global.u32 %r3, [%rd2]; add.u32 %r4, %r3, 3;"
          "atom.acq_rel.gpu.global.cas.b32 %r5, [%rd2], %r3, %r4; setp.ne.u32 %p1, %r5, %r3;"
          "@%p1 bra L;",
          0, 3 * THREADS);
    check("atom.global.cas.b64 %rd3, [%rd2], 0, 12345678901;", 0, 12345678901);
    check("atom.global.cas.b16 %h1, [%rd2], 7, 9;", 7, 9);
    // Each block sums in shared memory, by its address and by a generic one.
    check(".shared .b32 s; setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
          "atom.shared.add.u32 %r3, [s], 1; mov.u64 %rd4, s; cvta.shared.u64 %rd5, %rd4;"
          "atom.add.u32 %r3, [%rd5], 1; bar.sync 0; ld.shared.u32 %r4, [s];"
          "@%p1 red.global.add.u32 [%rd2], %r4;",
          0, 2 * THREADS);
    return done();
}

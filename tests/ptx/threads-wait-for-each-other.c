// SPDX-License-Identifier: BSD-3-Clause
// Barriers of blocks, locks between lanes and warps, and launches in which all blocks wait for
// each other.
#include "tests/ptx/engine.h"

static const char text[] = PTX_HEAD
    // Every round each thread reads what its neighbour wrote in the one before.
    ".visible .entry ring(.param .u64 out, .param .u32 rounds) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
    ".shared .align 4 .b32 cells[1024];\n"
    "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [rounds]; mov.u32 %r2, %tid.x;\n"
    "mov.u32 %r3, %ntid.x; mov.u32 %r4, cells; shl.b32 %r5, %r2, 2; add.u32 %r5, %r4, %r5;\n"
    "st.shared.u32 [%r5], %r2; add.u32 %r6, %r2, 1; rem.u32 %r6, %r6, %r3;\n"
    "shl.b32 %r6, %r6, 2; add.u32 %r6, %r4, %r6; mov.u32 %r7, 0;\n"
    "L: bar.sync 0; ld.shared.u32 %r8, [%r6]; barrier.sync 1, 1024; st.shared.u32 [%r5], %r8;\n"
    "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %r1; @%p1 bra L;\n"
    "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r8; ret; }\n"

    // Half of the warps only arrive, and lanes of a warp reach the barrier at different places.
    ".visible .entry halves(.param .u64 out) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>; .shared .b32 cell;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 64; @%p1 bra Producer;\n"
    "and.b32 %r3, %r2, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra Even;\n"
    "barrier.sync 3, 128; bra Read;\n"
    "Even: barrier.sync 3, 128;\n"
    "Read: ld.shared.u32 %r4, [cell]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;\n"
    "st.global.u32 [%rd1], %r4; exit;\n"
    "Producer: setp.eq.u32 %p3, %r2, 5; @%p3 st.shared.u32 [cell], 4711;\n"
    "barrier.arrive 3, 128; ret; }\n"

    ".visible .entry reductions(.param .u64 out) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<8>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 37;\n"
    "bar.red.popc.u32 %r3, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1;\n"
    "setp.lt.u32 %p1, %r2, 1000; barrier.red.and.pred %p4, 0, %p1; selp.u32 %r4, 2, 1, %p2;\n"
    "selp.u32 %r5, 1, 2, %p3; selp.u32 %r6, 1, 2, %p4; mul.lo.u32 %r4, %r4, %r5;\n"
    "mul.lo.u32 %r4, %r4, %r6; mad.lo.u32 %r3, %r4, 1000, %r3;\n"
    "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r3; ret; }\n"

    // Some warps leave early; the barrier is for those that stay.
    ".visible .entry leavers(.param .u64 out) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>; .shared .b32 cell;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, 40; @%p1 exit;\n"
    "setp.eq.u32 %p2, %r2, 39; @%p2 st.shared.u32 [cell], 99; bar.sync 0;\n"
    "ld.shared.u32 %r3, [cell]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;\n"
    "st.global.u32 [%rd1], %r3; ret; }\n"

    // The lane that has the lock is the one that leaves the loop.
    ".visible .entry lock(.param .u64 lock, .param .u64 count) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
    "ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [count];\n"
    "L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;\n"
    "ld.volatile.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, 1;\n"
    "st.volatile.global.u32 [%rd2], %r2; membar.gl; atom.global.exch.b32 %r3, [%rd1], 0; ret; }\n"

    // A warp waits for a flag that a later warp of the block raises, without a barrier.
    ".visible .entry flag(.param .u64 out) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 95; @%p1 bra Raise;\n"
    "L: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L; bra End;\n"
    "Raise: st.volatile.global.u32 [%rd1], 1;\n"
    "End: atom.global.add.u32 %r4, [%rd1+4], 1; ret; }\n"

    // All blocks wait until every one has come, again and again.
    ".visible .entry grid(.param .u64 count, .param .u32 rounds) {\n"
    ".reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
    "ld.param.u64 %rd1, [count]; ld.param.u32 %r1, [rounds]; mov.u32 %r2, %nctaid.x;\n"
    "mov.u32 %r3, %tid.x; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
    "Round: bar.sync 0; add.u32 %r6, %r6, %r2; setp.ne.u32 %p1, %r3, 0; @%p1 bra Meet;\n"
    "atom.global.add.u32 %r7, [%rd1], 1;\n"
    "Wait: ld.acquire.gpu.global.u32 %r8, [%rd1]; setp.lt.u32 %p2, %r8, %r6; @%p2 bra Wait;\n"
    "Meet: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r1; @%p3 bra Round; ret; }\n";

static struct ptx_module *m;

static int run(const char *name, unsigned grid, unsigned block, const void *params)
{
    return engine_launch(m, name, (struct launch_shape){grid, block, 0}, params);
}

int main(void)
{
    uint32_t *out = gpu_alloc(4096);
    int wrong = 0;

    m = engine_load(text);
    out = gpu_alloc(4096);
    struct {
        void *out;
        unsigned rounds;
    } params = {out, 77};
    is_int(run("ring", 1, 1000, &params), 0, "a thousand threads meet at two barriers");
    for (uint32_t i = 0; i < 1000; i++)
        wrong += out[i] != (i + 77) % 1000;
    is_int(wrong, 0, "and never miss a round");

    is_int(run("halves", 1, 128, &params), 0, "producers arrive, consumers wait");
    wrong = 0;
    for (uint32_t i = 64; i < 128; i++)
        wrong += out[i] != 4711;
    is_int(wrong, 0, "and see what was produced");

    is_int(run("reductions", 1, 100, &params), 0, "barriers that count");
    wrong = 0;
    for (uint32_t i = 0; i < 100; i++)
        wrong += out[i] != 1037;
    is_int(wrong, 0, "give every thread the block's answer");

    is_int(run("leavers", 1, 128, &params), 0, "a barrier after some have left");
    wrong = 0;
    for (uint32_t i = 0; i < 40; i++)
        wrong += out[i] != 99;
    is_int(wrong, 0, "holds for those who stayed");

    uint32_t *words = gpu_alloc(64);
    struct {
        void *lock, *count;
    } lock = {words, words + 1};
    is_int(run("lock", 5, 80, &lock), 0, "lanes of a warp compete for a lock");
    is_int(words[1], 400, "and each had it once");

    words = gpu_alloc(64);
    params.out = words;
    is_int(run("flag", 1, 96, &params), 0, "a warp waits for a flag of a later one");
    is_int(words[1], 96, "and all come through");

    engine_cooperative = true;
    words = gpu_alloc(64);
    params.out = words;
    params.rounds = 5;
    is_int(run("grid", 50, 64, &params), 0, "blocks of a cooperative launch wait for each other");
    is_int(words[0], 250, "in every round");
    engine_threads = 1;
    words = gpu_alloc(64);
    params.out = words;
    is_int(run("grid", 50, 64, &params), 0, "on one host thread as well");
    is_int(run("grid", 5000, 64, &params), -EINVAL, "more blocks than can be there are refused");
    engine_cooperative = false;
    ptx_module_free(&m);
    gpu_free_all();
    return done();
}

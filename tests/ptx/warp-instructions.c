// SPDX-License-Identifier: BSD-3-Clause
// Exchange between lanes of a warp: shuffles, votes, matches, reductions, synchronization.
#include "tests/ptx/engine.h"
#include "tests/ptx/gpu.h"

static uint64_t in[32], out[32];

// Runs a body over one warp; lane i finds in[i] at %in and leaves its result at %out.
static int run(const char *body, unsigned lanes)
{
    static const char head[] = LANE_KERNEL("ld.global.u32 %%r1, [%%in]; mov.u32 %%r9, 0;\n%s\n"
                                           "st.global.u32 [%%out], %%r9;");
    char text[8192], format[8192];
    struct ptx_module *m;
    uint64_t *o, *i;
    size_t n = 0;
    int result;

    // The head's own percent signs are doubled only around the body.
    for (const char *p = head; *p; p++) {
        if (*p == '%' && p[1] != 's' && p[1] != '%')
            format[n++] = '%';
        else if (*p == '%' && p[1] == '%')
            format[n++] = *p++;
        format[n++] = *p;
    }
    format[n] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), format, body);
#pragma GCC diagnostic pop
    if (on_gpu()) {
        memset(out, 0, sizeof(out));
        gpu_run(text, 1, lanes, out, sizeof(out), in, sizeof(in));
        return 0;
    }
    m = engine_load(text);
    o = gpu_alloc(sizeof(out));
    i = gpu_alloc(sizeof(in));
    memcpy(i, in, sizeof(in));
    struct {
        void *out, *in;
    } params = {o, i};
    result = engine_launch(m, "k", (struct launch_shape){1, lanes, 0}, &params);
    memcpy(out, o, sizeof(out));
    ptx_module_free(&m);
    gpu_free_all();
    return result;
}

static void check(const char *body, uint32_t want(uint32_t lane))
{
    int wrong = 0, result;

    if (on_gpu() && !strstr(body, "sync") && (strstr(body, "shfl") || strstr(body, "vote"))) {
        skip(1, "%s: no longer on new GPUs", body);
        return;
    }
    if (on_gpu() && strstr(body, "nanosleep")) {
        skip(1, "%s: when lanes meet again is the GPU's choice", body);
        return;
    }
    result = run(body, 32);

    for (uint32_t i = 0; !result && i < 32; i++)
        if ((uint32_t)out[i] != want(i) && wrong++ < 3)
            diag("lane %u: got 0x%x, want 0x%x", i, (uint32_t)out[i], want(i));
    ok(!result && !wrong, "%s", body);
}

#define V(i) ((i)*3 + 100)
static uint32_t down(uint32_t i)
{
    return i + 5 < 32 ? V(i + 5) : V(i);
}
static uint32_t up(uint32_t i)
{
    return i >= 3 ? V(i - 3) : V(i);
}
static uint32_t bfly(uint32_t i)
{
    return V(i ^ 13);
}
static uint32_t idx(uint32_t i)
{
    return V(7);
}
static uint32_t idx8(uint32_t i)
{
    return V((i & 24) | 2);
}
static uint32_t down8(uint32_t i)
{
    return (i & 7) + 3 < 8 ? V(i + 3) : V(i);
}
static uint32_t up16(uint32_t i)
{
    return (i & 15) >= 4 ? V(i - 4) : V(i);
}
static uint32_t inside(uint32_t i)
{
    return i + 5 < 32;
}
static uint32_t ballot(uint32_t i)
{
    return 0x92492492u;
}
static uint32_t even(uint32_t i)
{
    return i & 1 ? 0xaaaaaaaa : 0x55555555;
}
static uint32_t one(uint32_t i)
{
    return 1;
}
static uint32_t zero(uint32_t i)
{
    return 0;
}
static uint32_t all(uint32_t i)
{
    return 0xffffffff;
}
static uint32_t same4(uint32_t i)
{
    return 0x11111111u << i % 4;
}
static uint32_t sum(uint32_t i)
{
    return 31 * 16 * 3 + 3200;
}
static uint32_t low(uint32_t i)
{
    return V(0);
}
static uint32_t high(uint32_t i)
{
    return V(31);
}
static uint32_t ored(uint32_t i)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < 32; k++)
        r |= V(k);
    return r;
}
static uint32_t xored(uint32_t i)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < 32; k++)
        r ^= V(k);
    return r;
}
static uint32_t signed_min(uint32_t i)
{
    return (uint32_t)-100;
}
static uint32_t half_sum(uint32_t i)
{
    return i < 16 ? 120 * 3 + 1600 : 376 * 3 + 1600;
}
static uint32_t lane_below(uint32_t i)
{
    return (1u << i) - 1;
}
static uint32_t lane_above(uint32_t i)
{
    return i == 31 ? 0 : ~0u << (i + 1);
}
static uint32_t diverged(uint32_t i)
{
    return i < 10 ? 0x3ff : 0xfffffc00;
}
static uint32_t elected(uint32_t i)
{
    return i == 4 ? 1 : 0;
}

int main(void)
{
    for (uint32_t i = 0; i < 32; i++)
        in[i] = V(i);
    check("shfl.sync.down.b32 %r9, %r1, 5, 31, -1;", down);
    check("shfl.sync.up.b32 %r9, %r1, 3, 0, -1;", up);
    check("shfl.sync.bfly.b32 %r9, %r1, 13, 31, -1;", bfly);
    check("shfl.sync.idx.b32 %r9, %r1, 7, 31, -1;", idx);
    check("shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;", idx8);
    check("shfl.sync.down.b32 %r9, %r1, 3, 0x181f, -1;", down8);
    check("shfl.sync.up.b32 %r9, %r1, 4, 0x1000, -1;", up16);
    check("shfl.sync.down.b32 %r2|%p1, %r1, 5, 31, -1; selp.u32 %r9, 1, 0, %p1;", inside);
    check("shfl.down.b32 %r9, %r1, 5, 31;", down);
    check("rem.u32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 1; vote.sync.ballot.b32 %r9, %p1, -1;",
          ballot);
    check("setp.lt.u32 %p1, %r0, 32; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;",
          one);
    check("setp.lt.u32 %p1, %r0, 31; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;",
          zero);
    check("setp.eq.u32 %p1, %r0, 31; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;",
          one);
    check("setp.eq.u32 %p1, %r0, 31; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;",
          zero);
    check("setp.eq.u32 %p1, %r0, 31; vote.any.pred %p2, !%p1; selp.u32 %r9, 1, 0, %p2;", one);
    check("and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r3, 0x55555555; "
          "@%p1 mov.u32 %r3, 0xaaaaaaaa; setp.eq.u32 %p2, 0, 0; "
          "@%p1 vote.sync.ballot.b32 %r9, %p2, %r3; @!%p1 vote.sync.ballot.b32 %r9, %p2, %r3;",
          even);
    check("and.b32 %r2, %r0, 3; match.any.sync.b32 %r9, %r2, -1;", same4);
    check("and.b32 %r2, %r0, 3; cvt.u64.u32 %rd1, %r2; shl.b64 %rd1, %rd1, 40; "
          "match.any.sync.b64 %r9, %rd1, -1;",
          same4);
    check("match.all.sync.b32 %r9|%p1, 5, -1;", all);
    check("match.all.sync.b32 %r2|%p1, %r0, -1; selp.u32 %r9, 1, 0, %p1; or.b32 %r9, %r9, %r2;",
          zero);
    check("redux.sync.add.u32 %r9, %r1, -1;", sum);
    check("redux.sync.min.u32 %r9, %r1, -1;", low);
    check("redux.sync.max.s32 %r9, %r1, -1;", high);
    check("redux.sync.or.b32 %r9, %r1, -1;", ored);
    check("redux.sync.xor.b32 %r9, %r1, -1;", xored);
    check("mov.u32 %r2, %r1; setp.eq.u32 %p1, %r0, 9; @%p1 mov.u32 %r2, -100; "
          "redux.sync.min.s32 %r9, %r2, -1;",
          signed_min);
    check("setp.lt.u32 %p1, %r0, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1; "
          "redux.sync.add.u32 %r9, %r1, %r2;",
          half_sum);
    check("mov.u32 %r9, %lanemask_lt;", lane_below);
    check("mov.u32 %r9, %lanemask_gt;", lane_above);
    check("activemask.b32 %r9;", all);
    check("setp.lt.u32 %p1, %r0, 10; @%p1 bra A; activemask.b32 %r9; bra B; "
          "A: activemask.b32 %r9; B:",
          diverged);
    check("setp.lt.u32 %p1, %r0, 10; @%p1 bra A; nanosleep.u32 100; A: activemask.b32 %r9;", all);
    check("setp.lt.u32 %p1, %r0, 4; @%p1 bra A; elect.sync %r2|%p2, 0xfffffff0; "
          "selp.u32 %r9, 1, 0, %p2; A:",
          elected);
    // Lanes that come by different ways, some of them later, still take part.
    check("setp.lt.u32 %p1, %r0, 10; mov.u32 %r2, %r1; @%p1 bra A; bar.warp.sync -1; "
          "bra B; A: bar.warp.sync -1; B: shfl.sync.down.b32 %r9, %r2, 5, 31, -1;",
          down);
    check("mov.u32 %r3, 0; L: add.u32 %r3, %r3, 1; setp.le.u32 %p1, %r3, %r0; @%p1 bra L; "
          "shfl.sync.bfly.b32 %r9, %r1, 13, 31, -1;",
          bfly);
    check("setp.eq.u32 %p1, %r0, 0; @%p1 bra A; shfl.sync.idx.b32 %r9, %r1, 7, 31, 0xfffffffe; "
          "bra B; A: mov.u32 %r9, 121; B:",
          idx);

    // A vote does not wait for lanes that have exited.
    is_int(run("setp.ge.u32 %p1, %r0, 20; @%p1 exit; vote.sync.ballot.b32 %r9, 1, -1;", 32), 0,
           "a vote after the exit of some lanes ends");
    is_int(out[3], 0xfffff, "and counts those that are left");
    is_int(run("vote.sync.ballot.b32 %r9, 1, -1;", 20), 0, "a warp of twenty lanes");
    is_int(out[3], 0xfffff, "has twenty votes");
    return done();
}

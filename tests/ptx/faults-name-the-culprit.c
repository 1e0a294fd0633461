// SPDX-License-Identifier: BSD-3-Clause
// Accesses that a GPU would refuse, traps, and launches that are ended from outside.
#include <pthread.h>

#include "tests/ptx/engine.h"

static const char text[] = PTX_HEAD
    ".visible .entry touch(.param .u64 at, .param .u32 lane) {\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
    "ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [lane]; mov.u32 %r2, %tid.x;\n"
    "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r2, %r1; setp.ne.or.u32 %p1, %r3, 2, %p1;\n"
    "@%p1 bra End;\n"
    "st.global.u32 [%rd1], %r2;\n" // line 9
    "End: ret; }\n"
    ".visible .entry generic(.param .u64 at) {\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [at]; ld.u32 %r1, [%rd1]; ret; }\n"
    ".visible .entry atomic(.param .u64 at) {\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [at]; red.add.u32 [%rd1], 1; ret; }\n"
    ".visible .entry vector(.param .u64 at) { .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [at]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; ret; }\n"
    ".visible .entry shared(.param .u64 at) { .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    ".shared .b32 x[4]; ld.param.u64 %rd1, [at]; ld.shared.u32 %r1, [%rd1]; ret; }\n"
    ".visible .entry local(.param .u64 at) { .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    ".local .b32 x[4]; ld.param.u64 %rd1, [at]; st.local.u32 [%rd1], 1; ret; }\n"
    ".visible .entry stop() { trap; }\n"
    ".visible .entry forever() { .reg .b32 %r; L: add.u32 %r, %r, 1; bra L; }\n"
    ".visible .entry stuck() { .reg .b32 %r; .reg .pred %p; mov.u32 %r, %tid.x;\n"
    "setp.lt.u32 %p, %r, 32; @%p bar.sync 1, 64; @!%p bar.sync 2, 64; ret; }\n"
    ".func deep(.param .u32 n) { .reg .b32 %r<4>; .local .b32 room[30];\n"
    "ld.param.u32 %r1, [n]; add.u32 %r1, %r1, 1; st.local.u32 [room], %r1;\n"
    "{ .param .b32 p; st.param.b32 [p], %r1; call deep, (p); } ret; }\n"
    ".visible .entry recursion() { .param .b32 p; st.param.b32 [p], 0; call deep, (p); ret; }\n"
    ".visible .entry jump(.param .u64 to) { .reg .b64 %rd; ld.param.u64 %rd, [to];\n"
    "proto: .callprototype _ (); call %rd, (), proto; ret; }\n"
    ".visible .entry quick(.param .u64 at) { .reg .b64 %rd; ld.param.u64 %rd, [at];\n"
    "st.global.u32 [%rd], 7; ret; }\n";

static struct ptx_module *m;

static int run(const char *name, unsigned grid, unsigned block, const void *params)
{
    return engine_launch(m, name, (struct launch_shape){grid, block, 0}, params);
}

static void faults(const char *name, unsigned block, uint64_t at, enum ptx_fault_kind kind,
                   const char *what)
{
    is_int(run(name, 1, block, &at), -EFAULT, "%s ends the launch", what);
    is_int(engine_fault.kind, kind, "%s is %s", what, ptx_fault_name(kind));
}

static volatile bool cancel;

static void *set_cancel(void *unused)
{
    __atomic_store_n(&cancel, true, __ATOMIC_RELAXED);
    return NULL;
}

static void test_cancel(void)
{
    struct ptx_launch launch = {.function = ptx_module_find(m, "forever"),
                                .grid = {9, 1, 1},
                                .block = {64, 1, 1},
                                .threads = 2,
                                .cancel = &cancel};
    pthread_t thread;

    pthread_create(&thread, NULL, set_cancel, NULL);
    is_int(ptx_launch_run(&launch, &engine_fault), -ECANCELED, "an endless launch is cancelled");
    pthread_join(thread, NULL);
}

int main(void)
{
    uint32_t *buf;
    struct {
        uint64_t at;
        unsigned lane;
    } params;

    m = engine_load(text);
    buf = gpu_alloc(64);
    params.at = (uintptr_t)buf + 64;
    params.lane = 45;
    is_int(run("touch", 5, 64, &params), -EFAULT, "a store behind the allocation ends the launch");
    is_int(engine_fault.kind, PTX_FAULT_ILLEGAL_ADDRESS, "as an illegal address");
    is_int(engine_fault.address, params.at, "which is told");
    is_int(engine_fault.block[0], 2, "with the block");
    is_int(engine_fault.thread[0], 45, "and the thread");
    is_int(engine_fault.line, 9, "and the line of the text");
    ok(strstr(engine_fault.text, "st.global.u32"), "and the instruction: %s", engine_fault.text);
    params.at = (uintptr_t)buf + 60;
    is_int(run("touch", 5, 64, &params), 0, "the last word is good");
    is_int(buf[15], 45, "and written");

    faults("generic", 32, (uintptr_t)buf + 2, PTX_FAULT_MISALIGNED_ADDRESS, "half a word");
    faults("generic", 32, 0, PTX_FAULT_ILLEGAL_ADDRESS, "a null pointer");
    faults("generic", 32, (uintptr_t)&params, PTX_FAULT_ILLEGAL_ADDRESS, "the host's own memory");
    faults("atomic", 32, (uintptr_t)buf + 64, PTX_FAULT_ILLEGAL_ADDRESS, "an atomic outside");
    faults("atomic", 32, (uintptr_t)buf + 1, PTX_FAULT_MISALIGNED_ADDRESS, "a crooked atomic");
    faults("vector", 32, (uintptr_t)buf + 8, PTX_FAULT_MISALIGNED_ADDRESS, "a crooked vector");
    faults("vector", 32, (uintptr_t)buf + 64, PTX_FAULT_ILLEGAL_ADDRESS, "a vector outside");
    faults("shared", 32, 16, PTX_FAULT_ILLEGAL_ADDRESS, "beyond shared memory");
    faults("shared", 32, UINT64_MAX - 3, PTX_FAULT_ILLEGAL_ADDRESS, "far beyond shared memory");
    faults("local", 32, 1 << 20, PTX_FAULT_ILLEGAL_ADDRESS, "beyond local memory");
    faults("stop", 32, 0, PTX_FAULT_TRAP, "a trap");
    faults("stuck", 64, 0, PTX_FAULT_DEADLOCK, "a barrier that nobody completes");
    faults("recursion", 32, 0, PTX_FAULT_STACK, "endless recursion");
    faults("jump", 32, 0x1234, PTX_FAULT_INVALID_PC, "a call of no function");
    test_cancel();

    params.at = (uintptr_t)buf;
    is_int(run("quick", 1, 32, &params), 0, "after all that, launches work");
    is_int(buf[0], 7, "and do what they should");
    is_int(run("quick", 1, 1025, &params), -EINVAL, "more than 1024 threads are refused");
    is_int(run("quick", 0, 32, &params), -EINVAL, "an empty grid is refused");
    is_int(engine_launch(m, "quick", (struct launch_shape){1, 32, PTX_MAX_SHARED + 1}, &params),
           -EINVAL, "too much shared memory is refused");
    ptx_module_free(&m);
    gpu_free_all();
    return done();
}

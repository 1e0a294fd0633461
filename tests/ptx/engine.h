// SPDX-License-Identifier: BSD-3-Clause
// A small GPU for tests of the PTX engine alone: modules with their variables placed on the heap,
// buffers that the engine may touch and nothing else, launches with a few parameters.
#ifndef RGPU_TESTS_PTX_ENGINE_H
#define RGPU_TESTS_PTX_ENGINE_H

#include <errno.h>
#include <math.h>

#include "sim/ptx/ptx.h"
#include "tests/tap.h"

#define PTX_HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static struct {
    uint64_t base, end;
} engine_ranges[4096];
static unsigned engine_range_count;
static char engine_log[65536];
static char engine_output[1 << 20];
static size_t engine_output_used;
static struct ptx_fault engine_fault;
static unsigned engine_threads = 2;
static bool engine_cooperative;

static inline bool engine_find(void *argument, uint64_t address, uint64_t *base, uint64_t *end)
{
    for (unsigned i = 0; i < engine_range_count; i++) {
        if (address >= engine_ranges[i].base && address < engine_ranges[i].end) {
            *base = engine_ranges[i].base;
            *end = engine_ranges[i].end;
            return true;
        }
    }
    return false;
}

// Zeroed memory of exactly this size as the engine sees it.
static inline void *gpu_alloc(size_t size)
{
    char *p = aligned_alloc(256, (size + 511) / 256 * 256);

    if (!p || engine_range_count == 4096)
        bail("out of memory");
    memset(p, 0, (size + 511) / 256 * 256);
    engine_ranges[engine_range_count].base = (uintptr_t)p;
    engine_ranges[engine_range_count++].end = (uintptr_t)p + size;
    return p;
}

static inline void gpu_free_all(void)
{
    for (unsigned i = 0; i < engine_range_count; i++)
        free((void *)(uintptr_t)engine_ranges[i].base);
    engine_range_count = 0;
}

static inline int engine_compile(const char *text, struct ptx_module **module)
{
    struct ptx_log error = {engine_log, sizeof(engine_log), 0};

    engine_log[0] = 0;
    *module = NULL;
    return ptx_module_compile(text, strlen(text), NULL, &error, module);
}

static inline void engine_place(struct ptx_module *m)
{
    for (size_t i = 0; i < ptx_module_global_count(m); i++) {
        void *p = gpu_alloc(ptx_module_global(m, i)->size);

        if (ptx_module_bind(m, i, (uintptr_t)p))
            bail("bind");
    }
    if (ptx_module_initialize(m))
        bail("initialize");
}

static inline struct ptx_module *engine_load(const char *text)
{
    struct ptx_module *m;
    int result = engine_compile(text, &m);

    if (result)
        bail("compile: %d: %s", result, engine_log);
    engine_place(m);
    return m;
}

static inline void engine_print(void *argument, const char *text, size_t size)
{
    if (size > sizeof(engine_output) - 1 - engine_output_used)
        size = sizeof(engine_output) - 1 - engine_output_used;
    memcpy(engine_output + engine_output_used, text, size);
    engine_output_used += size;
    engine_output[engine_output_used] = 0;
}

struct launch_shape {
    unsigned grid, block;
    size_t shared;
};

static inline int engine_launch(struct ptx_module *m, const char *name, struct launch_shape shape,
                                const void *params)
{
    struct ptx_launch launch = {
        .function = ptx_module_find(m, name),
        .grid = {shape.grid, 1, 1},
        .block = {shape.block, 1, 1},
        .dynamic_shared = shape.shared,
        .params = params,
        .memory = {NULL, engine_find},
        .print = engine_print,
        .threads = engine_threads,
        .cooperative = engine_cooperative,
        .sm_count = 4,
    };

    if (!launch.function)
        bail("no function %s", name);
    engine_output_used = 0;
    engine_output[0] = 0;
    return ptx_launch_run(&launch, &engine_fault);
}

// Compiles one entry `k` with parameters out, in (both .u64) and the body given; each of 32 threads
// has its number in %r0 and the addresses of its own 8 bytes in %out and %in.
#define LANE_KERNEL(body) \
    PTX_HEAD ".visible .entry k(.param .u64 p_out, .param .u64 p_in) {\n" \
             ".reg .b64 %out, %in, %off; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .b16 %h<64>;\n" \
             ".reg .f32 %f<64>; .reg .f64 %d<64>; .reg .pred %p<16>;\n" \
             "ld.param.u64 %out, [p_out]; ld.param.u64 %in, [p_in];\n" \
             "mov.u32 %r0, %tid.x; mul.wide.u32 %off, %r0, 8;\n" \
             "add.u64 %out, %out, %off; add.u64 %in, %in, %off;\n" body "\nret;\n}\n"

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Each word of the tested memory gets a number that depends on its place, so that a word in the
// wrong place is found, too. What threads compute is computed here once more.
#include "admin-cli/burn_in.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-cli/cuda_calls.h"
#include "admin-cli/output/command.h"
#include "common/base/scope.h"

enum {
    THREADS = 256,
    BLOCKS_MAX = 1024,
    KINDS = 4096, // threads with these numbers compute different values
    ROUNDS = 256,
    PIECES_MAX = 4096,
    GPUS_MAX = 64,
    COPY_MAX = 32 << 20,
};
#define PIECE_MAX ((uint64_t)256 << 20)
#define PATTERN 0x5a0f96c3u

// fill and check: word number i is (i * 2654435761) ^ seed. compute: each thread goes ROUNDS times
// through integer and floating-point arithmetic and stores a mix of both.
static const char kernels_text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
#define FIRST_AND_STEP \
    "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n" \
    "    mov.u32 %r4, %nctaid.x;\n    mad.lo.u32 %r5, %r2, %r3, %r1;\n" \
    "    mul.lo.u32 %r6, %r3, %r4;\n"
#define LOOP_BEGIN \
    "again:\n    setp.ge.u32 %p1, %r5, %r7;\n    @%p1 bra done;\n" \
    "    mul.lo.u32 %r9, %r5, 2654435761;\n    xor.b32 %r9, %r9, %r8;\n" \
    "    mul.wide.u32 %d2, %r5, 4;\n    add.s64 %d3, %d1, %d2;\n"
#define LOOP_END "    add.u32 %r5, %r5, %r6;\n    bra again;\ndone:\n    ret;\n}\n"
#define LOAD_ARGUMENTS \
    "    ld.param.u64 %d1, [at];\n    cvta.to.global.u64 %d1, %d1;\n" \
    "    ld.param.u32 %r7, [words];\n    ld.param.u32 %r8, [seed];\n"
#define REGISTERS "    .reg .pred %p<3>;\n    .reg .b32 %r<14>;\n    .reg .b64 %d<6>;\n"
    ".visible .entry fill(.param .u64 at, .param .u32 words, .param .u32 seed)\n{\n" REGISTERS
        LOAD_ARGUMENTS FIRST_AND_STEP LOOP_BEGIN "    st.global.u32 [%d3], %r9;\n" LOOP_END
    ".visible .entry check(.param .u64 at, .param .u32 words, .param .u32 seed, "
    ".param .u64 wrong)\n{\n" REGISTERS LOAD_ARGUMENTS
    "    ld.param.u64 %d4, [wrong];\n    cvta.to.global.u64 %d4, %d4;\n" FIRST_AND_STEP LOOP_BEGIN
    "    ld.global.u32 %r10, [%d3];\n    setp.eq.u32 %p2, %r10, %r9;\n    @%p2 bra right;\n"
    "    red.global.add.u32 [%d4], 1;\nright:\n" LOOP_END
    ".visible .entry compute(.param .u64 at, .param .u32 words, .param .u32 seed)\n{\n" REGISTERS
    "    .reg .f32 %f<4>;\n" LOAD_ARGUMENTS FIRST_AND_STEP LOOP_BEGIN
    "    and.b32 %r11, %r5, 4095;\n    xor.b32 %r11, %r11, %r8;\n    mov.u32 %r12, 0;\n"
    "    mov.f32 %f1, 0f3F800000;\nround:\n"
    "    mad.lo.u32 %r11, %r11, 1664525, 1013904223;\n    shr.u32 %r13, %r11, 16;\n"
    "    cvt.rn.f32.u32 %f2, %r13;\n    fma.rn.f32 %f1, %f1, 0f3F7FBE77, %f2;\n"
    "    add.u32 %r12, %r12, 1;\n    setp.lt.u32 %p2, %r12, 256;\n    @%p2 bra round;\n"
    "    mov.b32 %r13, %f1;\n    xor.b32 %r11, %r11, %r13;\n    st.global.u32 [%d3], %r11;\n" LOOP_END;

static struct cuda_calls cuda;

static struct tested {
    int number;
    char name[128];
    CUcontext context;
    CUfunction fill, check, compute;
    CUdeviceptr wrong; // counter of wrong words
    size_t pieces;
    CUdeviceptr memory[PIECES_MAX];
    uint32_t words[PIECES_MAX];
} gpus[GPUS_MAX];

static CUresult burn_in_run(CUfunction function, CUdeviceptr at, uint32_t words, uint32_t seed,
                            CUdeviceptr wrong)
{
    uint32_t blocks = (words + THREADS - 1) / THREADS;
    void *arguments[] = {&at, &words, &seed, &wrong};

    return cuda.launch(function, blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX, 1, 1, THREADS, 1, 1, 0,
                       NULL, arguments, NULL);
}

// Adds to *WRONG the number of words that differ from the pattern.
static CUresult check_words(const struct tested *gpu, CUdeviceptr at, uint32_t words, uint32_t seed,
                            uint64_t *wrong)
{
    uint32_t count = 0;
    CUresult result = cuda.to(gpu->wrong, &count, sizeof(count));

    if (!result)
        result = burn_in_run(gpu->check, at, words, seed, gpu->wrong);
    if (!result)
        result = cuda.from(&count, gpu->wrong, sizeof(count));
    *wrong += count;
    return result;
}

// ---- the tests: *WRONG is the number of words that are not as they should be ----

// All pieces are filled before one is checked. The second pattern has the bits of the first one
// inverted.
static CUresult test_memory(const struct tested *gpu, uint64_t *wrong)
{
    CUresult result = CUDA_SUCCESS;

    for (int pass = 0; !result && pass < 2; pass++) {
        uint32_t seed = pass ? ~PATTERN : PATTERN;
        for (size_t i = 0; !result && i < gpu->pieces; i++)
            result = burn_in_run(gpu->fill, gpu->memory[i], gpu->words[i], seed ^ (uint32_t)i, 0);
        for (size_t i = 0; !result && i < gpu->pieces; i++)
            result = check_words(gpu, gpu->memory[i], gpu->words[i], seed ^ (uint32_t)i, wrong);
    }
    return result;
}

static uint32_t compute_here(uint32_t number)
{
    uint32_t x = number ^ PATTERN, bits;
    float f = 1;

    for (int i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        f = fmaf(f, 0x1.ff7ceep-1f, (float)(x >> 16));
    }
    memcpy(&bits, &f, sizeof(bits));
    return x ^ bits;
}

static uint32_t words_for_copies(const struct tested *gpu)
{
    return gpu->words[0] < COPY_MAX / 4 ? gpu->words[0] : COPY_MAX / 4;
}

static CUresult test_arithmetic(const struct tested *gpu, uint64_t *wrong)
{
    uint32_t words = words_for_copies(gpu), right[KINDS];
    SCOPED_FREE uint32_t *numbers = malloc((size_t)words * 4);
    CUresult result = numbers ? burn_in_run(gpu->compute, gpu->memory[0], words, PATTERN, 0)
                              : CUDA_ERROR_OUT_OF_MEMORY;

    for (uint32_t i = 0; i < KINDS; i++)
        right[i] = compute_here(i);
    if (!result)
        result = cuda.from(numbers, gpu->memory[0], (size_t)words * 4);
    for (uint32_t i = 0; !result && i < words; i++)
        *wrong += numbers[i] != right[i % KINDS];
    return result;
}

static CUresult test_copies(const struct tested *gpu, uint64_t *wrong)
{
    uint32_t words = words_for_copies(gpu);
    SCOPED_FREE uint32_t *numbers = malloc((size_t)words * 4);
    CUresult result = numbers ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    for (uint32_t i = 0; !result && i < words; i++)
        numbers[i] = i * 2654435761u ^ PATTERN;
    if (!result)
        result = cuda.to(gpu->memory[0], numbers, (size_t)words * 4);
    if (!result)
        result = check_words(gpu, gpu->memory[0], words, PATTERN, wrong);
    if (!result)
        result = burn_in_run(gpu->fill, gpu->memory[0], words, ~PATTERN, 0);
    if (!result)
        result = cuda.from(numbers, gpu->memory[0], (size_t)words * 4);
    for (uint32_t i = 0; !result && i < words; i++)
        *wrong += numbers[i] != (i * 2654435761u ^ ~PATTERN);
    return result;
}

static CUresult test_peer(const struct tested *from, const struct tested *to, uint64_t *wrong)
{
    uint32_t words = words_for_copies(from), room = words_for_copies(to);
    CUresult result = cuda.set_current(from->context);

    words = words < room ? words : room;
    if (!result)
        result = burn_in_run(from->fill, from->memory[0], words, PATTERN, 0);
    if (!result)
        result = cuda.set_current(to->context);
    if (!result)
        result = burn_in_run(to->fill, to->memory[0], words, ~PATTERN, 0);
    if (!result)
        result = cuda.peer(to->memory[0], to->context, from->memory[0], from->context,
                           (size_t)words * 4);
    return result ? result : check_words(to, to->memory[0], words, PATTERN, wrong);
}

// ---- a GPU ----

// Prints the result of a test. Returns true if it passed.
static bool burn_in_report(const char *what, CUresult result, uint64_t wrong)
{
    const char *error = "an unknown error";

    if (result) {
        cuda.explain(result, &error);
        printf("%s: %s\n", what, error);
    } else if (wrong) {
        printf("%s: %llu words are wrong\n", what, (unsigned long long)wrong);
    } else {
        printf("%s: passed\n", what);
    }
    fflush(stdout);
    return !result && !wrong;
}

// Takes memory piece by piece. Less than BYTES is no error: others may have some of it.
static CUresult take_memory(struct tested *gpu, uint64_t bytes)
{
    size_t free_bytes = 0, total;
    CUresult result = cuda.memory(&free_bytes, &total);

    if (!bytes)
        bytes = free_bytes - free_bytes / 32;
    for (uint64_t size; !result && bytes >= 4 && gpu->pieces < PIECES_MAX; bytes -= size) {
        size = (bytes < PIECE_MAX ? bytes : PIECE_MAX) & ~UINT64_C(3);
        result = cuda.alloc(&gpu->memory[gpu->pieces], size);
        if (!result)
            gpu->words[gpu->pieces++] = (uint32_t)(size / 4);
    }
    return gpu->pieces ? CUDA_SUCCESS : result ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult set_up(struct tested *gpu, uint64_t bytes)
{
    CUmodule module;
    CUresult result = cuda.name(gpu->name, sizeof(gpu->name), gpu->number);

    if (!result)
        result = cuda.retain(&gpu->context, gpu->number);
    if (!result)
        result = cuda.set_current(gpu->context);
    if (!result)
        result = cuda.load(&module, kernels_text);
    if (!result)
        result = cuda.find(&gpu->fill, module, "fill");
    if (!result)
        result = cuda.find(&gpu->check, module, "check");
    if (!result)
        result = cuda.find(&gpu->compute, module, "compute");
    if (!result)
        result = cuda.alloc(&gpu->wrong, sizeof(uint32_t));
    return result ? result : take_memory(gpu, bytes);
}

static bool burn_in_gpu(struct tested *gpu, uint64_t bytes)
{
    static const struct {
        const char *name;
        CUresult (*run)(const struct tested *gpu, uint64_t *wrong);
    } tests[] = {{"memory", test_memory}, {"arithmetic", test_arithmetic}, {"copies", test_copies}};
    CUresult result = set_up(gpu, bytes);
    bool passed = true;
    char what[200];

    if (result) {
        snprintf(what, sizeof(what), "gpu %d %s", gpu->number, gpu->name);
        return burn_in_report(what, result, 0);
    }
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        uint64_t wrong = 0, sum = 0;
        for (size_t j = 0; j < gpu->pieces; j++)
            sum += (uint64_t)gpu->words[j] * 4;
        snprintf(what, sizeof(what), "gpu %d %s: %s", gpu->number, gpu->name, tests[i].name);
        if (!i)
            snprintf(what + strlen(what), sizeof(what) - strlen(what), " (%llu MiB)",
                     (unsigned long long)sum >> 20);
        result = tests[i].run(gpu, &wrong);
        passed &= burn_in_report(what, result, wrong);
    }
    // The others of a process that tests all GPUs need no more than the first piece.
    while (gpu->pieces > 1)
        cuda.release(gpu->memory[--gpu->pieces]);
    return passed;
}

static bool burn_in_peers(int count)
{
    bool passed = true;

    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            char what[64];
            uint64_t wrong = 0;
            if (i == j)
                continue;
            snprintf(what, sizeof(what), "gpu %d to gpu %d: copies", i, j);
            CUresult result = test_peer(&gpus[i], &gpus[j], &wrong);
            passed &= burn_in_report(what, result, wrong);
        }
    return passed;
}

int burn_in(const char *path, uint64_t bytes)
{
    int count = 0;
    bool passed = true;

    if (cuda_calls_load(path, &cuda) || cuda.init(0) || cuda.count(&count) || !count)
        return EXIT_ANSWER_NO;
    count = count < GPUS_MAX ? count : GPUS_MAX;
    for (int i = 0; i < count; i++) {
        gpus[i].number = i;
        passed &= burn_in_gpu(&gpus[i], bytes);
    }
    return passed && burn_in_peers(count) ? 0 : EXIT_ANSWER_NO;
}

// SPDX-License-Identifier: BSD-3-Clause
// PTX texts from elsewhere: none may bring the compiler down, and whatever compiles may touch only
// the memory that it was given when it runs. A text that compiles is also tried with some of its
// words exchanged, which gets deeper than changing bytes.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/ptx/ptx.h"

enum { VARIANTS = 24, BUFFER = 4096, WORDS = 4000, RUN_MS = 30 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char buffer[BUFFER] __attribute__((aligned(256)));
static volatile bool cancel;
static uint64_t deadline;

static bool find(void *argument, uint64_t address, uint64_t *base, uint64_t *end)
{
    const struct ptx_module *m = argument;

    *base = (uintptr_t)buffer;
    *end = *base + BUFFER;
    return m && address >= *base && address < *end;
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// Texts may loop for ever; launches that take long are cancelled.
static void *watch(void *unused)
{
    for (;;) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        uint64_t end = __atomic_load_n(&deadline, __ATOMIC_RELAXED);

        if (end && now_ms() > end)
            __atomic_store_n(&cancel, true, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void start_watch(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, watch, NULL))
        abort();
}

static void launch(struct ptx_module *m, struct ptx_function *f)
{
    static char params[32768];
    const struct ptx_function_info *info = ptx_function_info(f);
    struct ptx_launch l = {.function = f,
                           .grid = {2, 1, 1},
                           .block = {40, 1, 1},
                           .dynamic_shared = 64,
                           .params = params,
                           .memory = {m, find},
                           .threads = 1,
                           .cancel = &cancel};
    struct ptx_fault fault;
    uint64_t address = (uintptr_t)buffer;

    if (info->local_bytes > 1 << 16)
        return;
    for (size_t i = 0; i < info->param_count; i++)
        if (info->params[i].size == 8)
            memcpy(params + info->params[i].offset, &address, 8);
    if (info->required_block[0])
        memcpy(l.block, info->required_block, sizeof(l.block));
    __atomic_store_n(&cancel, false, __ATOMIC_RELAXED);
    __atomic_store_n(&deadline, now_ms() + RUN_MS, __ATOMIC_RELAXED);
    (void)!ptx_launch_run(&l, &fault);
    __atomic_store_n(&deadline, 0, __ATOMIC_RELAXED);
}

// All variables share one buffer, because this test does not check their memory.
static bool place(struct ptx_module *m)
{
    for (size_t i = 0; i < ptx_module_global_count(m); i++) {
        const struct ptx_global *g = ptx_module_global(m, i);

        if (g->size > BUFFER || g->align > 256 || ptx_module_bind(m, i, (uintptr_t)buffer))
            return false;
    }
    return ptx_module_initialize(m) == 0;
}

static bool try_text(const char *text, size_t size)
{
    char log[512];
    struct ptx_log error = {log, sizeof(log), 0};
    struct ptx_module *m = NULL;
    int result = ptx_module_compile(text, size, NULL, &error, &m);

    if (result && (m || !error.used || error.used >= sizeof(log)))
        abort(); // every refusal says why
    if (result)
        return false;
    if (place(m))
        for (size_t i = 0; i < ptx_module_function_count(m); i++)
            launch(m, ptx_module_function(m, i));
    ptx_module_free(&m);
    return true;
}

struct word {
    const char *at;
    size_t len;
};

static bool is_word(char c)
{
    return c == '_' || c == '%' || c == '$' || c == '.' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t split(const char *text, size_t size, struct word *words)
{
    size_t n = 0;

    for (size_t i = 0; i < size && n < WORDS;) {
        size_t start = i;

        while (i < size && is_word(text[i]))
            i++;
        if (i == start) {
            i++;
            continue;
        }
        words[n++] = (struct word){text + start, i - start};
    }
    return n;
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void try_variant(const char *text, size_t size, const struct word *words, size_t count,
                        uint64_t *state)
{
    const struct word *to = &words[next(state) % count], *from = &words[next(state) % count];
    size_t head = (size_t)(to->at - text), tail = size - head - to->len;
    char *variant = malloc(head + from->len + tail + 1);

    if (!variant)
        abort();
    memcpy(variant, text, head);
    memcpy(variant + head, from->at, from->len);
    memcpy(variant + head + from->len, to->at + to->len, tail);
    try_text(variant, head + from->len + tail);
    free(variant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static struct word words[WORDS];
    const char *text = (const char *)data;
    uint64_t state = 88172645463325252ull + size;
    size_t count;

    pthread_once(&once, start_watch);
    if (!try_text(text, size))
        return 0;
    for (size_t i = 0; i < size; i++)
        state = state * 31 + data[i];
    count = split(text, size, words);
    for (unsigned i = 0; count && i < VARIANTS; i++)
        try_variant(text, size, words, count, &state);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Allocation during a compilation, and its failure: a line in the log and a longjmp to the start.
#include "sim/ptx/parse/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void ptx_log_add(struct ptx_log *log, const char *fmt, ...)
{
    va_list args;
    int n;

    if (!log || log->used + 1 >= log->size)
        return;
    va_start(args, fmt);
    n = vsnprintf(log->buf + log->used, log->size - log->used, fmt, args);
    va_end(args);
    if (n > 0)
        log->used += (size_t)n < log->size - log->used ? (size_t)n : log->size - log->used - 1;
}

void compile_fail(struct compiler *c, int code, unsigned line, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    // Names in the text may contain control characters.
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = '?';
    ptx_log_add(c->error, "%s, line %u; error: %s\n", c->source_name ? c->source_name : "ptx", line,
                text);
    longjmp(c->fail, code);
}

void compile_out_of_memory(struct compiler *c)
{
    ptx_log_add(c->error, "out of memory\n");
    longjmp(c->fail, -ENOMEM);
}

void *compile_alloc(struct compiler *c, size_t size)
{
    void *p = arena_alloc(&c->module->arena, size);

    if (!p)
        compile_out_of_memory(c);
    return p;
}

void *compile_scratch(struct compiler *c, size_t size)
{
    void *p = arena_alloc(&c->scratch, size);

    if (!p)
        compile_out_of_memory(c);
    return p;
}

void *compile_keep(struct compiler *c, const void *data, size_t size)
{
    void *p = compile_alloc(c, size ? size : 1);

    if (size)
        memcpy(p, data, size);
    return p;
}

void *compile_grow(struct compiler *c, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    void *bigger;

    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 16;
    bigger = compile_scratch(c, *capacity * size);
    if (count)
        memcpy(bigger, array, count * size);
    return bigger;
}

char *compile_string(struct compiler *c, const char *text, size_t len)
{
    char *s = compile_alloc(c, len + 1);

    memcpy(s, text, len);
    return s;
}

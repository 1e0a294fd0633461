// SPDX-License-Identifier: BSD-3-Clause
// Names in scope. Labels and variables share one name space, as in PTX.
#include "sim/ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

static uint32_t name_hash(const char *name, unsigned len)
{
    uint32_t h = 2166136261u;

    for (unsigned i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * 16777619u;
    return h ^ h >> 15;
}

struct symbol *scope_find_in(struct scope *scope, const char *name, unsigned len)
{
    struct symbol *s = scope->buckets[name_hash(name, len) % scope->bucket_count];

    while (s && (s->len != len || memcmp(s->name, name, len)))
        s = s->next;
    return s;
}

struct symbol *scope_find(struct compiler *c, const char *name, unsigned len)
{
    for (struct scope *scope = c->scope; scope; scope = scope->parent) {
        struct symbol *s = scope_find_in(scope, name, len);

        if (s)
            return s;
    }
    return NULL;
}

struct symbol *scope_add(struct compiler *c, struct scope *scope, const char *name, unsigned len,
                         enum symbol_kind kind)
{
    struct symbol *s = compile_scratch(c, sizeof(*s));
    uint32_t bucket = name_hash(name, len) % scope->bucket_count;

    s->name = name;
    s->len = len;
    s->kind = kind;
    s->line = c->token.line;
    s->next = scope->buckets[bucket];
    scope->buckets[bucket] = s;
    return s;
}

struct scope *scope_new(struct compiler *c, struct scope *parent, uint32_t buckets)
{
    struct scope *scope = compile_scratch(c, sizeof(*scope) + buckets * sizeof(struct symbol *));

    scope->parent = parent;
    scope->bucket_count = buckets;
    return scope;
}

void scope_push(struct compiler *c)
{
    if (++c->depth > 200)
        compile_fail(c, -EINVAL, c->token.line, "blocks nested too deeply");
    c->scope = scope_new(c, c->scope, 16);
}

void scope_pop(struct compiler *c)
{
    c->scope = c->scope->parent;
    c->depth--;
}

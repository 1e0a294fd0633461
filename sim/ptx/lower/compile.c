// SPDX-License-Identifier: BSD-3-Clause
// Compiles texts to a module: parses each source, then resolves shared memory layout, external
// names, the depth of the call graph, and the table of constants across sources.
#include "sim/ptx/lower/lower.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t align_up(uint64_t at, uint64_t align)
{
    return (at + align - 1) & ~(align - 1);
}

// Places an entry's shared variables after the common ones, which functions and sources share. An
// entry that uses no common variables starts at zero.
static void place_shared(struct compiler *c)
{
    struct ptx_module *m = c->module;
    uint64_t common = 0;

    for (uint32_t i = 0; i < c->shared_count; i++) {
        struct variable *v = c->shared[i];

        if (v->own_shared || v->dynamic)
            continue;
        v->address = align_up(common, v->align ? v->align : 1);
        common = v->address + v->size;
        if (common > 1u << 20)
            compile_fail(c, -EINVAL, v->line, "%s: more than %u bytes of shared memory", v->name,
                         PTX_MAX_SHARED);
    }
    m->common_shared = (uint32_t)align_up(common, 128);
    for (uint32_t i = 0; i < c->shared_count; i++) {
        struct variable *v = c->shared[i];
        struct ptx_function *f = v->function;

        if (!v->own_shared)
            continue;
        uint64_t base = f->uses_common_shared ? m->common_shared : 0;
        v->address = base + align_up(f->own_shared, v->align ? v->align : 1);
        if (v->address + v->size > 1u << 20)
            compile_fail(c, -EINVAL, v->line, "%s: more than %u bytes of shared memory", v->name,
                         PTX_MAX_SHARED);
        f->own_shared = (uint32_t)(v->address + v->size - base);
    }
}

enum { WALK_NEW, WALK_OPEN, WALK_DONE };

// Computes local memory, shared memory and recursion along the call graph.
static void walk_calls(struct compiler *c, struct ptx_function *f, unsigned depth)
{
    uint64_t deepest = 0;

    if (f->mark == WALK_DONE)
        return;
    f->mark = WALK_OPEN;
    if (depth > 1000)
        compile_fail(c, -EINVAL, f->line, "%s: calls nested too deeply", f->name);
    for (uint32_t i = 0; i < f->callee_count; i++) {
        struct ptx_function *callee = f->callees[i];

        if (callee->mark == WALK_OPEN) {
            f->recursive = true;
            continue;
        }
        walk_calls(c, callee, depth + 1);
        f->uses_common_shared |= callee->uses_common_shared;
        f->indirect_calls |= callee->indirect_calls;
        f->recursive |= callee->recursive;
        if (callee->total_local > deepest)
            deepest = callee->total_local;
    }
    f->total_local = f->frame_bytes + deepest;
    f->mark = WALK_DONE;
}

static struct ptx_function *behind_alias(struct compiler *c, struct ptx_function *f)
{
    for (unsigned i = 0; f->alias; i++) {
        if (i > 100)
            compile_fail(c, -EINVAL, f->line, "%s: aliases go round", f->name);
        f = f->alias;
    }
    return f;
}

static void resolve_names(struct compiler *c)
{
    struct ptx_module *m = c->module;

    for (uint32_t i = 0; i < m->function_count; i++) {
        struct ptx_function *f = m->functions[i];

        f->frame_bytes = (uint32_t)align_up(f->frame_bytes, c->frame_align);
        for (uint32_t k = 0; k < f->callee_count; k++) {
            struct ptx_function *callee = behind_alias(c, f->callees[k]);

            if (!callee->defined && !callee->builtin)
                compile_fail(c, -EINVAL, f->line, "unresolved external function '%s'",
                             callee->name);
            f->callees[k] = callee;
        }
        for (uint32_t k = 0; k < f->code_count; k++) {
            struct insn *in = &f->code[k];

            if (in->op == OP_CALL && in->call->callee)
                in->call->callee = behind_alias(c, in->call->callee);
        }
    }
    for (uint32_t i = 0; i < m->reloc_count; i++) {
        struct reloc *r = &m->relocs[i];

        if (r->variable && !r->variable->defined && !r->variable->dynamic)
            compile_fail(c, -EINVAL, r->variable->line, "unresolved external variable '%s'",
                         r->variable->name);
        if (r->function)
            r->function = behind_alias(c, r->function);
        if (r->function && !r->function->defined && !r->function->builtin)
            compile_fail(c, -EINVAL, r->function->line, "unresolved external function '%s'",
                         r->function->name);
        if (r->target && r->variable && r->variable->space != SP_GLOBAL &&
            r->variable->space != SP_CONST)
            compile_fail(c, -EINVAL, r->variable->line,
                         "address of '%s' is no constant for an initial value", r->variable->name);
    }
}

static void write_constant(struct ptx_module *m, const struct reloc *r, uint64_t value)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        memcpy(m->constants + r->const_offset + lane * r->size, &value, r->size);
}

// Fills constants that do not depend on the caller's addresses: offsets in shared memory,
// functions.
static void fill_constants(struct compiler *c)
{
    struct ptx_module *m = c->module;

    m->constant_bytes = c->constant_bytes;
    m->constants = aligned_alloc(64, (size_t)align_up(c->constant_bytes + LANES * 8, 64));
    if (!m->constants)
        compile_out_of_memory(c);
    memset(m->constants, 0, align_up(c->constant_bytes + LANES * 8, 64));
    memcpy(m->constants, c->constants, c->constant_bytes);
    for (uint32_t i = 0; i < m->reloc_count; i++) {
        const struct reloc *r = &m->relocs[i];

        if (r->in_const && r->function)
            write_constant(m, r, (uintptr_t)r->function + (uint64_t)r->addend);
        else if (r->in_const && r->variable->space == SP_SHARED)
            write_constant(m, r, r->variable->address + (uint64_t)r->addend);
    }
}

static void describe_globals(struct compiler *c)
{
    struct ptx_module *m = c->module;

    for (uint32_t i = 0; i < m->global_count; i++) {
        struct variable *v = m->globals[i];

        v->global.name = v->name;
        v->global.size = v->size;
        v->global.align = v->align ? v->align : 1;
        v->global.space = v->space == SP_CONST ? PTX_SPACE_CONST : PTX_SPACE_GLOBAL;
        v->global.init = v->init;
        if (v->space == SP_CONST)
            m->const_bytes = align_up(m->const_bytes, v->global.align) + v->size;
    }
}

static void describe_entries(struct compiler *c)
{
    struct ptx_module *m = c->module;
    uint64_t indirect = 0;
    bool recursive = false;

    for (uint32_t i = 0; i < m->function_count; i++) {
        struct ptx_function *f = m->functions[i];

        if (!f->entry && f->total_local > indirect)
            indirect = f->total_local;
        recursive |= f->recursive;
    }
    for (uint32_t i = 0; i < m->entry_count; i++) {
        struct ptx_function *f = m->entries[i];
        struct ptx_function_info *info = &f->info;

        if (f->indirect_calls) {
            f->total_local += indirect;
            f->recursive |= recursive;
        }
        info->name = f->name;
        info->local_bytes = f->total_local;
        info->const_bytes = m->const_bytes;
        if (!info->max_threads || info->max_threads > 1024)
            info->max_threads = 1024;
        info->ptx_version = m->ptx_version;
        info->target = m->target;
        info->static_shared = f->own_shared + (f->uses_common_shared ? m->common_shared : 0);
        if (info->static_shared > PTX_MAX_SHARED)
            compile_fail(c, -EINVAL, f->line, "%s uses %zu bytes of shared memory, %u at most",
                         f->name, info->static_shared, PTX_MAX_SHARED);
        ptx_log_add(c->info,
                    "%s: %u registers, %zu bytes shared, %zu bytes local, "
                    "%zu bytes parameters\n",
                    f->name, info->registers, info->static_shared, info->local_bytes,
                    info->param_bytes);
    }
}

static void compile_finish(struct compiler *c)
{
    struct ptx_module *m = c->module;

    m->functions = compile_keep(c, m->functions, m->function_count * sizeof(*m->functions));
    m->entries = compile_keep(c, m->entries, m->entry_count * sizeof(*m->entries));
    m->globals = compile_keep(c, m->globals, m->global_count * sizeof(*m->globals));
    m->relocs = compile_keep(c, m->relocs, m->reloc_count * sizeof(*m->relocs));
    resolve_names(c);
    for (uint32_t i = 0; i < m->function_count; i++)
        walk_calls(c, m->functions[i], 0);
    // An indirect call may reach any function.
    for (uint32_t i = 0; i < m->function_count; i++)
        m->functions[i]->uses_common_shared |= m->functions[i]->indirect_calls;
    place_shared(c);
    fill_constants(c);
    describe_globals(c);
    describe_entries(c);
}

static void compile_sources(struct compiler *c, const struct ptx_source *sources, size_t count)
{
    c->frame_align = 16;
    c->carry = NO_PRED;
    c->constants = NULL;
    const_ref(c, 0, true); // REF_NONE reads this zero
    c->globals = scope_new(c, NULL, 4096);
    for (size_t i = 0; i < count; i++) {
        c->source = (unsigned)i;
        c->source_name = sources[i].name;
        c->statics = scope_new(c, c->globals, 4096);
        c->scope = c->statics;
        c->depth = 0;
        lex_start(c, sources[i].text, sources[i].len);
        parse_source(c);
    }
    c->source_name = NULL;
    compile_finish(c);
}

int ptx_module_link(const struct ptx_source *sources, size_t count, struct ptx_log *info,
                    struct ptx_log *error, struct ptx_module **out)
{
    struct compiler *c = calloc(1, sizeof(*c));
    struct ptx_module *module = calloc(1, sizeof(*module));
    int result;

    if (!c || !module) {
        free(c);
        free(module);
        return -ENOMEM;
    }
    c->module = module;
    c->info = info;
    c->error = error;
    c->lowering = &lowering_steps;
    result = setjmp(c->fail);
    if (!result)
        compile_sources(c, sources, count);
    arena_free(&c->scratch);
    free(c);
    if (result)
        ptx_module_free(&module);
    else
        *out = module;
    return result;
}

int ptx_module_compile(const char *text, size_t len, struct ptx_log *info, struct ptx_log *error,
                       struct ptx_module **out)
{
    struct ptx_source source = {.text = text, .len = len};

    return ptx_module_link(&source, 1, info, error, out);
}

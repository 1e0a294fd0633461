// SPDX-License-Identifier: BSD-3-Clause
// Parses declarations in state spaces: variables with initial values, registers, parameters.
#include "sim/ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

#define MAX_VARIABLE (1ull << 31)
#define MAX_FRAME (1ull << 20)
#define MAX_REGISTERS (1u << 20)

static uint64_t parse_align(struct compiler *c)
{
    uint64_t align = parse_constant_size(c, 1u << 20, "alignment");

    if (!align || align & (align - 1))
        compile_fail(c, -EINVAL, c->token.line, "alignment is not a power of two");
    return align;
}

static enum type parse_type(struct compiler *c)
{
    enum type t = TY_NONE;

    if (c->token.kind == TOK_DOT)
        t = type_by_name(c->token.text, c->token.len);
    if (c->token.kind == TOK_DOT && t == TY_NONE)
        compile_fail(c, -ENOTSUP, c->token.line, "type .%.*s is not supported", (int)c->token.len,
                     c->token.text);
    if (t == TY_NONE)
        token_unexpected(c, "a type");
    lex_next(c);
    return t;
}

static unsigned parse_vector(struct compiler *c)
{
    if (token_accept_dot(c, "v2"))
        return 2;
    return token_accept_dot(c, "v4") ? 4 : 1;
}

uint32_t frame_reserve(struct compiler *c, uint64_t size, uint64_t align)
{
    uint64_t at = (c->frame_bytes + align - 1) & ~(align - 1);

    if (size > MAX_FRAME || at + size > MAX_FRAME)
        compile_fail(c, -EINVAL, c->token.line, "more than %llu bytes of local memory",
                     (unsigned long long)MAX_FRAME);
    if (align > c->frame_align)
        c->frame_align = (uint32_t)align;
    c->frame_bytes = at + size;
    return (uint32_t)at;
}

// The position of the next element of an initial value.
struct filler {
    struct compiler *c;
    struct variable *v;
    uint64_t at;
    unsigned element;
};

static void filler_room(struct filler *f, unsigned size)
{
    if (size > f->v->size || f->at > f->v->size - size)
        compile_fail(f->c, -EINVAL, f->c->token.line, "too many initial values for %s", f->v->name);
    if (!f->v->init)
        f->v->init = compile_alloc(f->c, f->v->size);
}

static void fill_constant(struct filler *f, struct constant k)
{
    char kind = type_kind(f->v->type);
    uint64_t bits = k.integer;

    if (kind == 'f' && f->element == 8) {
        double value = k.real ? k.value : (double)(int64_t)k.integer;
        memcpy(&bits, &value, 8);
    } else if (kind == 'f' && f->element == 4 && f->v->type == TY_F32) {
        float value = k.real ? (float)k.value : (float)(int64_t)k.integer;
        uint32_t word;

        memcpy(&word, &value, 4);
        bits = word;
    }
    filler_room(f, f->element);
    memcpy(f->v->init + f->at, &bits, f->element > 8 ? 8 : f->element);
    f->at += f->element;
}

static void fill_address(struct filler *f, unsigned shift, unsigned size)
{
    struct compiler *c = f->c;
    bool parens = false;
    struct symbol *s;

    if (token_word(c, TOK_NAME, "generic")) {
        lex_next(c);
        token_expect(c, '(');
        parens = true;
    }
    if (c->token.kind != TOK_NAME)
        token_unexpected(c, "a name");
    s = scope_find(c, c->token.text, c->token.len);
    if (!s || (s->kind != SYM_VARIABLE && s->kind != SYM_FUNCTION))
        compile_fail(c, -EINVAL, c->token.line, "'%.*s' is not a variable or function",
                     (int)c->token.len, c->token.text);
    lex_next(c);
    if (parens)
        token_expect(c, ')');

    struct reloc r = {.variable = s->variable,
                      .function = s->function,
                      .target = f->v,
                      .target_offset = f->at,
                      .shift = shift,
                      .size = size};
    if (token_accept(c, '+'))
        r.addend = (int64_t)parse_constant_integer(c);
    else if (token_is(c, '-'))
        r.addend = (int64_t)parse_constant_integer(c);
    filler_room(f, size);
    c->module->relocs =
        compile_grow(c, c->module->relocs, c->module->reloc_count, &c->reloc_capacity, sizeof(r));
    c->module->relocs[c->module->reloc_count++] = r;
    f->at += size;
}

static bool names_address(struct compiler *c)
{
    return c->token.kind == TOK_NAME && !token_word(c, TOK_NAME, "WARP_SZ");
}

// Parses 0xFF00(name): one byte of an address.
static void fill_mask(struct filler *f, uint64_t mask)
{
    unsigned shift = mask ? (unsigned)__builtin_ctzll(mask) : 0;

    if (!mask || shift % 8 || mask >> shift != 0xff)
        compile_fail(f->c, -EINVAL, f->c->token.line, "mask of an address is not one byte");
    token_expect(f->c, '(');
    fill_address(f, shift, 1);
    token_expect(f->c, ')');
}

static void fill_string(struct filler *f)
{
    for (unsigned i = 0; i < f->c->token.len; i++)
        fill_constant(f, (struct constant){.integer = (unsigned char)f->c->token.text[i]});
    lex_next(f->c);
}

// Fills a list; missing elements are zero.
static void variable_fill(struct filler *f, const uint64_t *dims, unsigned dim_count)
{
    struct compiler *c = f->c;

    if (token_accept(c, '{')) {
        uint64_t start = f->at, span = f->element;

        if (++c->depth > 100)
            compile_fail(c, -EINVAL, c->token.line, "initial value nested too deeply");
        for (unsigned i = 0; i < dim_count; i++)
            span *= dims[i];
        while (!token_is(c, '}')) {
            variable_fill(f, dims + (dim_count ? 1 : 0), dim_count ? dim_count - 1 : 0);
            if (!token_accept(c, ','))
                break;
        }
        token_expect(c, '}');
        c->depth--;
        if (dim_count && f->at < start + span)
            f->at = start + span;
    } else if (names_address(c)) {
        if (f->element < 4)
            compile_fail(c, -EINVAL, c->token.line, "address in a .b8 variable needs a mask");
        fill_address(f, 0, f->element);
    } else if (c->token.kind == TOK_STRING) {
        fill_string(f);
    } else {
        struct constant k = parse_constant(c);

        if (!k.real && token_is(c, '('))
            fill_mask(f, k.integer);
        else
            fill_constant(f, k);
    }
}

static enum space parse_space(struct compiler *c)
{
    static const struct {
        const char *name;
        enum space space;
    } spaces[] = {
        {"global", SP_GLOBAL},
        {"const", SP_CONST},
        {"shared", SP_SHARED},
        {"local", SP_LOCAL},
    };

    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (token_accept_dot(c, spaces[i].name))
            return spaces[i].space;
    token_unexpected(c, "a state space");
}

static void add_global(struct compiler *c, struct variable *v)
{
    struct ptx_module *m = c->module;

    v->global_index = (int)m->global_count;
    m->globals =
        compile_grow(c, m->globals, m->global_count, &c->global_capacity, sizeof(*m->globals));
    m->globals[m->global_count++] = v;
}

// Returns the variable that a declaration names: a new one, or an earlier .extern.
static struct variable *variable_declare(struct compiler *c, const struct token *name,
                                         enum space space, bool external, bool visible, bool weak)
{
    bool shared_name = external || visible || weak;
    struct scope *scope = c->function ? c->scope : shared_name ? c->globals : c->statics;
    struct symbol *s = c->function ? scope_find_in(c->scope, name->text, name->len)
                                   : scope_find(c, name->text, name->len);
    struct variable *v;

    if (s && (s->kind != SYM_VARIABLE || s->variable->space != space))
        compile_fail(c, -EINVAL, name->line, "'%.*s' is declared twice", (int)name->len,
                     name->text);
    if (s && s->variable->defined && !external) {
        if (!weak && !s->variable->weak)
            compile_fail(c, -EINVAL, name->line, "'%.*s' is defined twice", (int)name->len,
                         name->text);
        v = compile_alloc(c, sizeof(*v)); // parsed and dropped, since the first definition stays
        v->name = s->variable->name;
        return v;
    }
    if (s)
        return s->variable;
    v = compile_alloc(c, sizeof(*v));
    v->name = compile_string(c, name->text, name->len);
    v->space = space;
    v->source = c->source;
    v->line = name->line;
    v->external = true;
    v->global_index = -1;
    s = scope_add(c, scope, v->name, name->len, SYM_VARIABLE);
    s->variable = v;
    return v;
}

static unsigned parse_dims(struct compiler *c, uint64_t dims[8], bool *open)
{
    unsigned count = 0;

    *open = false;
    while (token_accept(c, '[')) {
        if (count == 8)
            compile_fail(c, -EINVAL, c->token.line, "too many dimensions");
        dims[count] = 0;
        if (token_is(c, ']')) {
            if (count)
                token_unexpected(c, "a size");
            *open = true;
        } else {
            dims[count] = parse_constant_size(c, MAX_VARIABLE, "size");
        }
        count++;
        token_expect(c, ']');
    }
    return count;
}

// Counts the initial values, for an array whose first dimension is omitted.
static uint64_t count_initial(struct compiler *c)
{
    const char *at = c->at;
    unsigned line = c->line, depth = 0;
    struct token token = c->token;
    uint64_t count = 0;

    if (c->token.kind == TOK_STRING)
        return c->token.len;
    for (;; lex_next(c)) {
        if (token_is(c, '{') || token_is(c, '(')) {
            if (depth++ == 0)
                count = 1;
        } else if (token_is(c, '}') || token_is(c, ')')) {
            if (!depth || --depth == 0)
                break;
        } else if (token_is(c, ',') && depth == 1) {
            count++;
        } else if (c->token.kind == TOK_END || token_is(c, ';')) {
            break;
        }
    }
    c->at = at;
    c->line = line;
    c->token = token;
    return count;
}

static void variable_place(struct compiler *c, struct variable *v)
{
    switch (v->space) {
    case SP_GLOBAL:
    case SP_CONST: add_global(c, v); break;
    case SP_SHARED:
        v->function = c->function;
        v->own_shared = c->function && c->function->entry;
        c->shared =
            compile_grow(c, c->shared, c->shared_count, &c->shared_capacity, sizeof(*c->shared));
        c->shared[c->shared_count++] = v;
        break;
    case SP_LOCAL:
        if (!c->function)
            compile_fail(c, -ENOTSUP, v->line, "%s: .local outside of a function", v->name);
        v->address = frame_reserve(c, v->size, v->align);
        break;
    case SP_GENERIC:
    case SP_PARAM: break;
    }
}

struct declaration {
    enum space space;
    enum type type;
    unsigned vector;
    uint64_t align;
    bool external, visible, weak, common, managed;
};

static void parse_one_variable(struct compiler *c, const struct declaration *d)
{
    uint64_t dims[8], size = type_size(d->type) * d->vector;
    struct token name = c->token;
    bool open;

    if (name.kind != TOK_NAME)
        token_unexpected(c, "a name");
    lex_next(c);
    struct variable *v = variable_declare(c, &name, d->space, d->external, d->visible || d->common,
                                          d->weak || d->common);
    unsigned dim_count = parse_dims(c, dims, &open);
    bool initial = token_accept(c, '=');
    if (open && initial)
        dims[0] = count_initial(c);
    for (unsigned i = 0; i < dim_count; i++) {
        size *= dims[i];
        if (size > MAX_VARIABLE)
            compile_fail(c, -EINVAL, name.line, "%s is too large", v->name);
    }
    if (v->defined) // an .extern of a variable that is defined already
        return;
    v->size = size;
    v->type = d->type;
    v->align = d->align > type_size(d->type) * d->vector ? d->align
                                                         : type_size(d->type) * d->vector;
    if (d->align)
        v->align = d->align;
    v->weak = d->weak || d->common;
    if (d->external) {
        v->dynamic = d->space == SP_SHARED;
        if (v->dynamic)
            v->external = false;
        return;
    }
    if (open && !initial)
        compile_fail(c, -EINVAL, name.line, "size of %s is missing", v->name);
    v->external = false;
    v->defined = true;
    v->global.visible = d->visible || d->weak || d->common;
    v->global.managed = d->managed;
    if (v->global_index < 0 || d->space == SP_SHARED || d->space == SP_LOCAL)
        variable_place(c, v);
    if (initial) {
        struct filler f = {.c = c, .v = v, .element = type_size(d->type)};

        if (d->space == SP_SHARED || d->space == SP_LOCAL)
            compile_fail(c, -EINVAL, name.line, "%s cannot have an initial value", v->name);
        variable_fill(&f, dims, dim_count);
    }
}

void parse_variable(struct compiler *c, bool external, bool visible, bool weak, bool common)
{
    struct declaration d = {
        .external = external, .visible = visible, .weak = weak, .common = common};

    d.space = parse_space(c);
    d.vector = 1;
    for (;;) {
        if (token_accept_dot(c, "align")) {
            d.align = parse_align(c);
        } else if (token_accept_dot(c, "attribute")) {
            token_expect(c, '(');
            do {
                if (token_word(c, TOK_DOT, "managed"))
                    d.managed = true;
                else if (!token_word(c, TOK_DOT, "unified"))
                    token_unexpected(c, ".managed or .unified");
                lex_next(c);
                if (token_accept(c, '(')) {
                    while (!token_is(c, ')') && c->token.kind != TOK_END)
                        lex_next(c);
                    token_expect(c, ')');
                }
            } while (token_accept(c, ','));
            token_expect(c, ')');
        } else if (token_word(c, TOK_DOT, "v2") || token_word(c, TOK_DOT, "v4")) {
            d.vector = parse_vector(c);
        } else {
            break;
        }
    }
    d.type = parse_type(c);
    if (d.type == TY_PRED)
        compile_fail(c, -EINVAL, c->token.line, "predicates live in .reg only");
    do
        parse_one_variable(c, &d);
    while (token_accept(c, ','));
    token_expect(c, ';');
}

void parse_registers(struct compiler *c)
{
    unsigned vector = parse_vector(c);
    enum type type = parse_type(c);

    if (type == TY_B128)
        compile_fail(c, -ENOTSUP, c->token.line, "registers of .b128 are not supported");
    do {
        struct token name = c->token;
        struct symbol *s;

        if (name.kind != TOK_NAME)
            token_unexpected(c, "a register's name");
        lex_next(c);
        s = scope_find_in(c->scope, name.text, name.len);
        if (s)
            compile_fail(c, -EINVAL, name.line, "'%.*s' is declared twice", (int)name.len,
                         name.text);
        s = scope_add(c, c->scope, name.text, name.len, SYM_REGS);
        s->type = type;
        s->vector = vector;
        if (token_accept(c, '<')) {
            s->parameterized = true;
            if (c->token.kind != TOK_INT || c->token.integer > MAX_REGISTERS)
                token_unexpected(c, "a number of registers");
            s->reg_count = (uint32_t)c->token.integer;
            lex_next(c);
            token_expect(c, '>');
        } else {
            s->reg_count = vector;
        }
        if (s->parameterized && vector > 1)
            compile_fail(c, -ENOTSUP, name.line, "numbered vector registers are not supported");
        s->regs = compile_scratch(c, (s->reg_count + 1) * sizeof(*s->regs));
    } while (token_accept(c, ','));
    token_expect(c, ';');
}

// Parses one parameter after its .param or .reg.
static void parse_param(struct compiler *c, bool in_reg, struct formal *f, struct token *name)
{
    uint64_t dims[8], align = 0, size;
    bool open;

    if (token_accept_dot(c, "align"))
        align = parse_align(c);
    unsigned vector = parse_vector(c);
    f->type = parse_type(c);
    if (token_accept_dot(c, "ptr"))
        while (c->token.kind == TOK_DOT) {
            bool aligned = token_word(c, TOK_DOT, "align");

            lex_next(c);
            if (aligned)
                parse_align(c);
        }
    if (c->token.kind == TOK_DOT)
        compile_fail(c, -ENOTSUP, c->token.line, "parameter attribute .%.*s is not supported",
                     (int)c->token.len, c->token.text);
    *name = c->token;
    if (name->kind != TOK_NAME)
        token_unexpected(c, "a parameter's name");
    lex_next(c);
    size = type_size(f->type) * vector;
    f->align = (uint32_t)(align ? align : size ? size : 1);
    unsigned dim_count = parse_dims(c, dims, &open);
    if (open)
        compile_fail(c, -ENOTSUP, name->line, "parameters of variable length are not supported");
    for (unsigned i = 0; i < dim_count; i++) {
        size *= dims[i];
        if (size > MAX_FRAME)
            compile_fail(c, -EINVAL, name->line, "parameter is too large");
    }
    f->size = (uint32_t)size;
    f->in_reg = in_reg;
    if (in_reg)
        f->size = f->type == TY_PRED ? 4 : type_size(f->type);
}

// Parses ( .param ..., ... ). With `declare_names`, adds names to the current scope: an entry's at
// offsets in the parameter buffer, a function's in its frame.
struct formal *parse_formals(struct compiler *c, uint32_t *count, bool entry, bool declare_names,
                             uint64_t *bytes)
{
    struct formal *formals = NULL;
    uint32_t n = 0, capacity = 0;
    uint64_t at = 0;

    token_expect(c, '(');
    while (!token_is(c, ')')) {
        struct formal f = {0};
        struct token name;
        bool in_reg = token_accept_dot(c, "reg");

        if (!in_reg && !token_accept_dot(c, "param"))
            token_unexpected(c, "a parameter");
        parse_param(c, in_reg, &f, &name);
        if (declare_names)
            f.offset = frame_reserve(c, f.size, f.align < 4 ? 4 : f.align);
        if (entry) {
            at = (at + f.align - 1) & ~(uint64_t)(f.align - 1);
            f.offset = (uint32_t)at;
            at += f.size;
            if (at > 32764)
                compile_fail(c, -EINVAL, name.line, "more than 32764 bytes of parameters");
        }
        f.name = compile_string(c, name.text, name.len);
        if ((entry || declare_names) && !(name.len == 1 && name.text[0] == '_')) {
            struct symbol *s = scope_find_in(c->scope, name.text, name.len);

            if (s)
                compile_fail(c, -EINVAL, name.line, "'%s' is declared twice", f.name);
            s = scope_add(c, c->scope, f.name, name.len, f.in_reg ? SYM_REGS : SYM_PARAM);
            s->type = f.type;
            s->entry_param = entry;
            s->offset = f.offset;
            s->size = f.size;
            if (f.in_reg) {
                s->vector = s->reg_count = 1;
                s->regs = compile_scratch(c, 2 * sizeof(*s->regs));
                s->regs[0] = new_reg(c, type_class(f.type)) + 1;
                f.reg = s->regs[0];
            }
        }
        formals = compile_grow(c, formals, n, &capacity, sizeof(f));
        formals[n++] = f;
        if (!token_accept(c, ','))
            break;
    }
    token_expect(c, ')');
    *count = n;
    if (bytes)
        *bytes = at;
    return compile_keep(c, formals, n * sizeof(*formals));
}

// Parses .param inside a body: the actual parameters of a call.
void parse_frame_param(struct compiler *c)
{
    do {
        struct formal f = {0};
        struct token name;

        parse_param(c, false, &f, &name);
        struct symbol *s = scope_find_in(c->scope, name.text, name.len);
        if (s)
            compile_fail(c, -EINVAL, name.line, "'%.*s' is declared twice", (int)name.len,
                         name.text);
        s = scope_add(c, c->scope, name.text, name.len, SYM_PARAM);
        s->type = f.type;
        s->size = f.size;
        s->offset = frame_reserve(c, f.size, f.align < 4 ? 4 : f.align);
    } while (token_accept(c, ','));
    token_expect(c, ';');
}

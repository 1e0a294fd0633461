// SPDX-License-Identifier: BSD-3-Clause
// Parses operands: registers, constants, symbols, vectors, addresses, special registers.
#include "sim/ptx/parse/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct special {
    const char *name;
    uint32_t ref;
    enum type type;
    bool triple; // has .x .y .z
};

static const struct special specials[] = {
    {"%tid", REF(REF_WARP, WARP_TID), TY_U32, true},
    {"%ntid", REF(REF_LAUNCH, LAUNCH_NTID), TY_U32, true},
    {"%ctaid", REF(REF_LAUNCH, LAUNCH_CTAID), TY_U32, true},
    {"%nctaid", REF(REF_LAUNCH, LAUNCH_NCTAID), TY_U32, true},
    {"%clusterid", REF(REF_LAUNCH, LAUNCH_CTAID), TY_U32, true},
    {"%nclusterid", REF(REF_LAUNCH, LAUNCH_NCTAID), TY_U32, true},
    {"%laneid", REF(REF_WARP, WARP_LANEID), TY_U32, false},
    {"%warpid", REF(REF_WARP, WARP_WARPID), TY_U32, false},
    {"%nwarpid", REF(REF_LAUNCH, LAUNCH_NWARPID), TY_U32, false},
    {"%smid", REF(REF_LAUNCH, LAUNCH_SMID), TY_U32, false},
    {"%nsmid", REF(REF_LAUNCH, LAUNCH_NSMID), TY_U32, false},
    {"%gridid", REF(REF_LAUNCH, LAUNCH_GRIDID), TY_U64, false},
    {"%lanemask_eq", REF(REF_WARP, WARP_LANEMASK_EQ), TY_U32, false},
    {"%lanemask_le", REF(REF_WARP, WARP_LANEMASK_LE), TY_U32, false},
    {"%lanemask_lt", REF(REF_WARP, WARP_LANEMASK_LT), TY_U32, false},
    {"%lanemask_ge", REF(REF_WARP, WARP_LANEMASK_GE), TY_U32, false},
    {"%lanemask_gt", REF(REF_WARP, WARP_LANEMASK_GT), TY_U32, false},
    {"%dynamic_smem_size", REF(REF_LAUNCH, LAUNCH_DYNAMIC_SMEM), TY_U32, false},
    {"%total_smem_size", REF(REF_LAUNCH, LAUNCH_TOTAL_SMEM), TY_U32, false},
    {"%aggr_smem_size", REF(REF_LAUNCH, LAUNCH_TOTAL_SMEM), TY_U32, false},
    {"%envreg1", REF(REF_LAUNCH, LAUNCH_ENVREG), TY_U32, false},
    {"%envreg2", REF(REF_LAUNCH, LAUNCH_ENVREG + WORDS(1)), TY_U32, false},
};

// Special registers that are always constant: without clusters every block is a cluster.
static const struct {
    const char *name;
    uint32_t value;
    bool triple;
} fixed_specials[] = {
    {"%cluster_ctaid", 0, true},
    {"%cluster_nctaid", 1, true},
    {"%cluster_ctarank", 0, false},
    {"%cluster_nctarank", 1, false},
    {"%is_explicit_cluster", 0, false},
    {"%reserved_smem_offset_begin", 0, false},
    {"%reserved_smem_offset_end", 0, false},
    {"%reserved_smem_offset_cap", 0, false},
    {"%current_graph_exec", 0, false},
};

static const struct {
    const char *name;
    enum clock_kind kind;
    enum type type;
} clocks[] = {
    {"%clock", CLOCK_32, TY_U32},
    {"%clock_hi", CLOCK_HI, TY_U32},
    {"%clock64", CLOCK_64, TY_U64},
    {"%globaltimer", GLOBALTIMER, TY_U64},
    {"%globaltimer_lo", GLOBALTIMER_LO, TY_U32},
    {"%globaltimer_hi", GLOBALTIMER_HI, TY_U32},
};

static bool operand_same(const char *name, unsigned len, const char *other)
{
    return strlen(other) == len && !memcmp(name, other, len);
}

// Parses .x .y .z after a special register as 0 to 2, and .w as 3.
static unsigned parse_component(struct compiler *c)
{
    static const char *const names[] = {"x", "y", "z", "w"};

    for (unsigned i = 0; i < 4; i++)
        if (token_accept_dot(c, names[i]))
            return i;
    token_unexpected(c, "a component such as .x");
}

static void fixed(struct operand *o, uint32_t value)
{
    o->kind = OPD_INT;
    o->integer = value;
}

bool special_register(struct compiler *c, struct operand *o, const char *name, unsigned len)
{
    o->special = true;
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (!operand_same(name, len, specials[i].name))
            continue;
        o->kind = OPD_REG;
        o->type = specials[i].type;
        o->ref = specials[i].ref;
        if (specials[i].triple) {
            unsigned k = parse_component(c);

            if (k == 3)
                fixed(o, 0);
            else
                o->ref += WORDS(k);
        }
        return true;
    }
    for (size_t i = 0; i < sizeof(fixed_specials) / sizeof(fixed_specials[0]); i++) {
        if (!operand_same(name, len, fixed_specials[i].name))
            continue;
        if (fixed_specials[i].triple)
            parse_component(c);
        fixed(o, fixed_specials[i].value);
        return true;
    }
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        if (!operand_same(name, len, clocks[i].name))
            continue;
        o->kind = OPD_CLOCK;
        o->integer = clocks[i].kind;
        o->type = clocks[i].type;
        return true;
    }
    if ((len > 7 && !memcmp(name, "%envreg", 7)) ||
        (len >= 3 && !memcmp(name, "%pm", 3) && isdigit((unsigned char)name[len - 1]))) {
        fixed(o, 0); // performance counters and values of a driver
        return true;
    }
    o->special = false;
    return false;
}

static uint32_t register_ref(struct compiler *c, struct symbol *s, uint32_t index)
{
    if (!s->regs[index])
        s->regs[index] = new_reg(c, type_class(s->type)) + 1;
    return REF(REF_REG, s->regs[index] - 1);
}

// Parses %r12 as element 12 of %r<n>.
static bool numbered_register(struct compiler *c, struct operand *o, const char *name, unsigned len)
{
    unsigned digits = len;
    uint32_t index = 0;

    while (digits && isdigit((unsigned char)name[digits - 1]))
        digits--;
    if (digits == len || !digits || len - digits > 7)
        return false;
    for (unsigned i = digits; i < len; i++)
        index = index * 10 + (unsigned)(name[i] - '0');
    for (struct scope *scope = c->scope; scope; scope = scope->parent) {
        struct symbol *s = scope_find_in(scope, name, digits);

        if (s && s->kind == SYM_REGS && s->parameterized && index < s->reg_count) {
            o->kind = OPD_REG;
            o->type = s->type;
            o->ref = register_ref(c, s, index);
            return true;
        }
    }
    return false;
}

// Expands a vector register to {v.x, v.y, ...}; v.x is one of its registers.
static void vector_register(struct compiler *c, struct operand *o, struct symbol *s)
{
    o->type = s->type;
    if (c->token.kind == TOK_DOT) {
        unsigned k = parse_component(c);

        if (k >= s->vector)
            compile_fail(c, -EINVAL, c->token.line, "component beyond the vector");
        o->kind = OPD_REG;
        o->ref = register_ref(c, s, k);
        return;
    }
    o->kind = OPD_VECTOR;
    o->count = s->vector;
    o->elements = compile_scratch(c, s->vector * sizeof(*o));
    for (uint32_t i = 0; i < s->vector; i++)
        o->elements[i] =
            (struct operand){.kind = OPD_REG, .type = s->type, .ref = register_ref(c, s, i)};
}

static void parse_symbol_offset(struct compiler *c, struct operand *o)
{
    if (token_accept(c, '+'))
        o->offset = (int64_t)parse_constant_integer(c);
    else if (token_is(c, '-'))
        o->offset = (int64_t)parse_constant_integer(c);
}

static void parse_name(struct compiler *c, struct operand *o)
{
    struct token name = c->token;
    struct symbol *s;

    lex_next(c);
    if (name.len == 1 && name.text[0] == '_') {
        o->kind = OPD_SINK;
        return;
    }
    s = scope_find(c, name.text, name.len);
    if (s && s->kind == SYM_REGS && !s->parameterized) {
        if (s->vector > 1) {
            vector_register(c, o, s);
        } else {
            o->kind = OPD_REG;
            o->type = s->type;
            o->ref = register_ref(c, s, 0);
        }
        return;
    }
    if (s && s->kind != SYM_REGS) {
        o->kind = s->kind == SYM_LABEL ? OPD_NAME : OPD_SYMBOL;
        o->symbol = s;
        o->name = name.text;
        o->len = name.len;
        if (o->kind == OPD_SYMBOL)
            parse_symbol_offset(c, o);
        return;
    }
    if (numbered_register(c, o, name.text, name.len))
        return;
    if (name.text[0] == '%' && special_register(c, o, name.text, name.len))
        return;
    if (name.text[0] == '%')
        compile_fail(c, -EINVAL, name.line, "register '%.*s' is not declared", (int)name.len,
                     name.text);
    o->kind = OPD_NAME;
    o->name = name.text;
    o->len = name.len;
}

static void parse_address(struct compiler *c, struct operand *o)
{
    o->kind = OPD_ADDRESS;
    if (c->token.kind == TOK_NAME && !token_word(c, TOK_NAME, "WARP_SZ")) {
        o->base = compile_scratch(c, sizeof(*o->base));
        parse_name(c, o->base);
        if (o->base->kind != OPD_REG && o->base->kind != OPD_SYMBOL)
            compile_fail(c, -EINVAL, c->token.line, "'%.*s' is not an address", (int)o->base->len,
                         o->base->name ? o->base->name : "");
        o->offset = o->base->offset;
        if (o->base->kind == OPD_REG && (token_is(c, '+') || token_is(c, '-'))) {
            token_accept(c, '+');
            o->offset = (int64_t)parse_constant_integer(c);
        }
    } else {
        o->offset = (int64_t)parse_constant_integer(c);
    }
    if (token_accept(c, ','))
        o->coordinates = parse_operand(c);
    token_expect(c, ']');
}

static void parse_elements(struct compiler *c, struct operand *o, char closing)
{
    struct operand elements[256];
    uint32_t n = 0;

    while (!token_is(c, closing)) {
        if (n == 256)
            compile_fail(c, -EINVAL, c->token.line, "list too long");
        elements[n++] = *parse_operand(c);
        if (!token_accept(c, ','))
            break;
    }
    token_expect(c, closing);
    o->count = n;
    o->elements = compile_scratch(c, (n + 1) * sizeof(*elements));
    memcpy(o->elements, elements, n * sizeof(*elements));
}

struct operand *parse_operand_list(struct compiler *c)
{
    struct operand *o = compile_scratch(c, sizeof(*o));

    token_expect(c, '(');
    o->kind = OPD_LIST;
    parse_elements(c, o, ')');
    return o;
}

static void operand_parse_number(struct compiler *c, struct operand *o)
{
    struct constant k = parse_constant(c);

    o->kind = k.real ? OPD_FLOAT : OPD_INT;
    o->is_f32 = k.is_f32;
    o->integer = k.integer;
    o->real = k.value;
}

struct operand *parse_operand(struct compiler *c)
{
    struct operand *o = compile_scratch(c, sizeof(*o));

    if (++c->depth > 200)
        compile_fail(c, -EINVAL, c->token.line, "operand nested too deeply");
    if (token_accept(c, '{')) {
        o->kind = OPD_VECTOR;
        parse_elements(c, o, '}');
    } else if (token_accept(c, '[')) {
        parse_address(c, o);
    } else if (token_is(c, '!')) {
        lex_next(c);
        if (c->token.kind == TOK_NAME) {
            parse_name(c, o);
            o->negated = true;
        } else {
            operand_parse_number(c, o);
            o->integer = !o->integer;
        }
    } else if (c->token.kind == TOK_NAME && !token_word(c, TOK_NAME, "WARP_SZ")) {
        parse_name(c, o);
    } else {
        operand_parse_number(c, o);
    }
    if (token_accept(c, '|')) {
        struct operand *pair = compile_scratch(c, sizeof(*pair));

        pair->kind = OPD_PAIR;
        pair->count = 2;
        pair->elements = compile_scratch(c, 2 * sizeof(*pair));
        pair->elements[0] = *o;
        pair->elements[1] = *parse_operand(c);
        o = pair;
    }
    c->depth--;
    return o;
}

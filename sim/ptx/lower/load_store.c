// SPDX-License-Identifier: BSD-3-Clause
// Lowers loads, stores, atomics, address conversions and asynchronous copies.
#include "sim/ptx/lower/lower.h"

#include <stdio.h>
#include <string.h>

// Skips cache and ordering hints, which have no effect here.
static void skip_hints(struct compiler *c)
{
    struct ptx_statement *s = c->statement;
    static const char *const hints[] = {"ca", "cg",   "cs",  "cv",      "lu",  "wb",  "wt",
                                        "nc", "weak", "cta", "cluster", "gpu", "sys", "unified"};

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        mod(c, hints[i]);
    for (unsigned i = 0; i < s->mod_count; i++)
        if ((s->mods[i].len > 4 && !memcmp(s->mods[i].text, "L1::", 4)) ||
            (s->mods[i].len > 4 && !memcmp(s->mods[i].text, "L2::", 4) &&
             memcmp(s->mods[i].text, "L2::cache_hint", s->mods[i].len < 14 ? s->mods[i].len : 14)))
            s->mods[i].used = true;
}

enum space mod_space(struct compiler *c)
{
    if (mod(c, "global"))
        return SP_GLOBAL;
    if (mod(c, "shared") || mod(c, "shared::cta"))
        return SP_SHARED;
    if (mod(c, "local"))
        return SP_LOCAL;
    if (mod(c, "const"))
        return SP_CONST;
    if (mod(c, "param") || mod(c, "param::entry") || mod(c, "param::func"))
        return SP_PARAM;
    return SP_GENERIC;
}

const char *statement_text(struct compiler *c)
{
    struct ptx_statement *s = c->statement;
    char text[96];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", s->opcode);

    for (unsigned i = 0; i < s->mod_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ".%.*s", (int)s->mods[i].len,
                                 s->mods[i].text);
    return compile_string(c, text, strlen(text));
}

// Resolves .param: frame memory in functions, the parameter buffer in entries.
static void settle_param(struct compiler *c, struct memory_op *m, struct operand *base)
{
    bool frame = base && base->kind == OPD_SYMBOL ? !base->symbol->entry_param
                                                  : !c->function->entry;

    if (m->space == SP_PARAM && frame)
        m->space = SP_LOCAL;
}

static enum space symbol_space(struct symbol *s)
{
    if (s->kind == SYM_PARAM)
        return SP_PARAM;
    return s->kind == SYM_VARIABLE ? s->variable->space : SP_GENERIC;
}

struct memory_op *memory_operand(struct compiler *c, struct insn *in, struct operand *o,
                                 enum space space, unsigned size)
{
    struct memory_op *m = compile_alloc(c, sizeof(*m));
    uint32_t at = (uint32_t)(in - c->code), a = REF_NONE;
    struct operand *base = o->base;

    if (o->kind != OPD_ADDRESS || o->coordinates)
        malformed(c, "address in [] expected");
    m->space = (uint8_t)space;
    m->size = (uint8_t)size;
    m->count = 1;
    m->offset = o->offset;
    m->text = statement_text(c);
    m->scan64 = alu_find("scan.b64")->fn;
    m->scan32 = alu_find("scan.b32")->fn;
    // Without a named space, a named variable determines the space.
    if (space == SP_GENERIC && base && base->kind == OPD_SYMBOL)
        m->space = (uint8_t)symbol_space(base->symbol);
    else if (base && base->kind == OPD_SYMBOL && symbol_space(base->symbol) != space)
        malformed(c, "variable lies in another state space");
    settle_param(c, m, base);
    if (base && base->kind == OPD_SYMBOL && m->space == SP_LOCAL) {
        struct symbol *s = base->symbol;

        m->frame_relative = true;
        m->offset += (int64_t)(s->kind == SYM_PARAM ? s->offset : s->variable->address);
    } else if (base && base->kind == OPD_SYMBOL) {
        struct operand plain = {.kind = OPD_SYMBOL, .symbol = base->symbol};

        a = use(c, &plain, TY_U64);
    } else if (base) {
        m->address32 = type_class(base->type) == CLASS_WORD;
        a = use(c, base, m->address32 ? TY_U32 : TY_U64);
    }
    // Instructions emitted for the base must come first.
    if (c->code_count - 1 != at) {
        struct insn self = c->code[at];

        memmove(&c->code[at], &c->code[at + 1], (c->code_count - 1 - at) * sizeof(self));
        c->code[c->code_count - 1] = self;
    }
    c->code[c->code_count - 1].mem = m;
    c->code[c->code_count - 1].a = a;
    return m;
}

static unsigned mod_vector(struct compiler *c)
{
    return mod(c, "v2") ? 2 : mod(c, "v4") ? 4 : mod(c, "v8") ? 8 : 1;
}

static struct operand *element(struct compiler *c, struct operand *o, unsigned n, unsigned i)
{
    if (n == 1)
        return o;
    if (o->kind != OPD_VECTOR || o->count != n)
        malformed(c, "vector of another length");
    return &o->elements[i];
}

static bool mod_ordered(struct compiler *c)
{
    bool is_volatile = mod(c, "volatile"), relaxed = mod(c, "relaxed"), acquire = mod(c, "acquire"),
         release = mod(c, "release"), mmio = mod(c, "mmio");

    return is_volatile || relaxed || acquire || release || mmio;
}

static void lower_ld(struct compiler *c)
{
    enum space space = mod_space(c);
    bool ordered = mod_ordered(c), wide_load;
    unsigned n = mod_vector(c);
    enum type t;
    struct operand *to = opd(c, 0);
    struct memory_op *m;
    struct insn *in;

    skip_hints(c);
    t = mod_type(c);
    want_operands(c, 2, 2);
    if (t == TY_PRED || t == TY_B128 || type_size(t) * n > 32)
        refuse(c, "type");
    in = emit(c, OP_LD);
    m = memory_operand(c, in, opd(c, 1), space, type_size(t));
    m->count = (uint8_t)n;
    m->ordered = ordered;
    m->sign_extend = type_kind(t) == 's';
    for (unsigned i = 0; i < n; i++) {
        struct operand *e = element(c, to, n, i);

        // The load itself extends a value to a register wider than the type.
        wide_load = e->kind == OPD_REG && type_class(e->type) == CLASS_DOUBLE;
        m->regs[i] = define(c, e, wide_load ? TY_B64 : t);
        m->classes[i] = (uint8_t)(wide_load ? CLASS_DOUBLE : type_class(t));
    }
}

static void lower_st(struct compiler *c)
{
    enum space space = mod_space(c);
    bool ordered = mod_ordered(c);
    unsigned n = mod_vector(c);
    struct operand *from = opd(c, 1);
    uint32_t values[8];
    struct memory_op *m;
    struct insn *in;
    enum type t;

    skip_hints(c);
    t = mod_type(c);
    want_operands(c, 2, 2);
    if (t == TY_PRED || t == TY_B128 || type_size(t) * n > 32)
        refuse(c, "type");
    for (unsigned i = 0; i < n; i++)
        values[i] = use(c, element(c, from, n, i), t);
    in = emit(c, OP_ST);
    m = memory_operand(c, in, opd(c, 0), space, type_size(t));
    m->count = (uint8_t)n;
    m->ordered = ordered;
    if (m->space == SP_CONST || m->space == SP_PARAM)
        refuse(c, "a store to read-only memory");
    for (unsigned i = 0; i < n; i++) {
        m->regs[i] = values[i];
        m->classes[i] = (uint8_t)type_class(t);
    }
}

enum atom_op mod_atom(struct compiler *c)
{
    static const char *const names[] = {
        [ATOM_ADD] = "add", [ATOM_MIN] = "min",   [ATOM_MAX] = "max", [ATOM_INC] = "inc",
        [ATOM_DEC] = "dec", [ATOM_EXCH] = "exch", [ATOM_CAS] = "cas", [ATOM_AND] = "and",
        [ATOM_OR] = "or",   [ATOM_XOR] = "xor",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mod(c, names[i]))
            return (enum atom_op)i;
    refuse(c, "no operation");
}

void check_atom(struct compiler *c, enum atom_op op, enum type t)
{
    bool bitwise = op == ATOM_AND || op == ATOM_OR || op == ATOM_XOR;
    char kind = type_kind(t);
    bool good = type_size(t) >= 4;

    if (bitwise)
        good = good && kind != 'f';
    else if (op == ATOM_EXCH || op == ATOM_CAS)
        good = good || (t == TY_B16 && op == ATOM_CAS);
    else if (op == ATOM_INC || op == ATOM_DEC)
        good = t == TY_U32;
    else if (op == ATOM_MIN || op == ATOM_MAX)
        good = good && (kind == 'u' || kind == 's');
    else
        good = kind != 'b' && (good || t == TY_F16 || t == TY_BF16);
    if (!good || t == TY_B128 || t == TY_PRED)
        refuse(c, "operation on this type");
}

static void lower_atom(struct compiler *c)
{
    bool discard = !strcmp(c->statement->opcode, "red");
    unsigned first = discard ? 0 : 1, n;
    enum space space = mod_space(c);
    uint32_t b, e = REF_NONE;
    enum atom_op op;
    struct memory_op *m;
    enum type t;

    mod_ordered(c);
    mod(c, "acq_rel");
    mod(c, "noftz");
    skip_hints(c);
    op = mod_atom(c);
    t = mod_type(c);
    check_atom(c, op, t);
    n = first + 2 + (op == ATOM_CAS);
    want_operands(c, n, n);
    b = use(c, opd(c, first + 1), t);
    if (op == ATOM_CAS)
        e = use(c, opd(c, first + 2), t);
    struct insn *in = emit(c, OP_ATOM);
    in->b = b;
    in->c = e;
    in->dst_class = (uint8_t)type_class(t);
    m = memory_operand(c, in, opd(c, first), space, type_size(t));
    if (m->space == SP_CONST || m->space == SP_PARAM || m->space == SP_LOCAL)
        refuse(c, "state space");
    m->atom = (uint8_t)op;
    m->type = (uint8_t)t;
    m->discard = discard || opd(c, 0)->kind == OPD_SINK;
    m->regs[0] = REF_NONE;
    m->classes[0] = (uint8_t)type_class(t);
    if (!m->discard)
        m->regs[0] = define(c, opd(c, 0), t);
}

static uint32_t space_base(struct compiler *c, enum space space)
{
    switch (space) {
    case SP_SHARED: return REF(REF_LAUNCH, LAUNCH_SHARED_BASE);
    case SP_LOCAL: return REF(REF_WARP, WARP_LOCAL_BASE);
    case SP_PARAM:
        return c->function->entry ? REF(REF_LAUNCH, LAUNCH_PARAM_BASE)
                                  : REF(REF_WARP, WARP_LOCAL_BASE);
    case SP_GLOBAL:
    case SP_CONST:
    case SP_GENERIC: break;
    }
    return REF_NONE;
}

static void lower_cvta(struct compiler *c)
{
    bool to = mod(c, "to");
    enum space space = mod_space(c);
    enum type t = mod_type(c);
    uint32_t a, d, base = space_base(c, space);

    want_operands(c, 2, 2);
    if (space == SP_GENERIC)
        malformed(c, "state space missing");
    if (t != TY_U64)
        refuse(c, "only 64-bit addresses");
    a = use_wide(c, opd(c, 1));
    d = define(c, opd(c, 0), TY_U64);
    if (base == REF_NONE)
        emit_alu(c, "mov.b64", d, a, REF_NONE, REF_NONE, 0);
    else
        emit_alu(c, to ? "sub.b64" : "add.b64", d, a, base, REF_NONE, 0);
}

static void lower_isspacep(struct compiler *c)
{
    enum space space = mod_space(c);
    uint32_t a;
    struct insn *in;

    if (space == SP_GENERIC) {
        if (!mod(c, "shared::cluster"))
            malformed(c, "state space missing");
        space = SP_SHARED;
    }
    want_operands(c, 2, 2);
    a = use_wide(c, opd(c, 1));
    in = emit(c, OP_ISSPACEP);
    in->a = a;
    in->imm = space;
    in->dst_class = CLASS_PRED;
    in->d = define(c, opd(c, 0), TY_PRED);
}

static void lower_prefetch(struct compiler *c)
{
    struct operand *o = opd(c, 0);

    want_operands(c, 1, 1);
    mod_space(c);
    mod(c, "L1");
    mod(c, "L2");
    mod(c, "tensormap");
    skip_hints(c);
    if (o->kind != OPD_ADDRESS || o->coordinates)
        malformed(c, "address in [] expected");
    emit(c, OP_NOP);
}

// Lowers cp.async as an immediate copy; its group and wait forms do nothing. Data that a program
// may read only after the wait is there earlier.
static void lower_cp(struct compiler *c)
{
    struct memory_op *from, *to;
    uint32_t n = c->statement->operand_count, size, source_size = REF_NONE, a;
    struct insn *in;

    if (!mod(c, "async"))
        refuse(c, "");
    if (mod(c, "bulk")) {
        lower_cp_async_bulk(c);
        return;
    }
    if (mod(c, "mbarrier")) {
        lower_cp_async_mbarrier(c);
        return;
    }
    if (mod(c, "commit_group") || mod(c, "wait_all")) {
        want_operands(c, 0, 0);
        emit(c, OP_NOP);
        return;
    }
    if (mod(c, "wait_group")) {
        want_operands(c, 1, 1);
        emit(c, OP_NOP);
        return;
    }
    if (!mod(c, "shared") && !mod(c, "shared::cta"))
        refuse(c, "");
    if (!mod(c, "global"))
        refuse(c, "");
    skip_hints(c);
    want_operands(c, 3, 4);
    if (opd(c, 2)->kind != OPD_INT ||
        (opd(c, 2)->integer != 4 && opd(c, 2)->integer != 8 && opd(c, 2)->integer != 16))
        malformed(c, "size is not 4, 8 or 16");
    size = (uint32_t)opd(c, 2)->integer;
    if (n == 4)
        source_size = use(c, opd(c, 3), TY_U32);
    in = emit(c, OP_CP_ASYNC);
    from = memory_operand(c, in, opd(c, 1), SP_GLOBAL, size);
    a = c->code[c->code_count - 1].a;
    in = &c->code[c->code_count - 1];
    to = memory_operand(c, in, opd(c, 0), SP_SHARED, size);
    in = &c->code[c->code_count - 1];
    in->b = in->a;
    in->a = a;
    in->c = source_size;
    in->mem = from;
    from->zero_fill = n == 4;
    from->destination = to;
}

const struct lowering lower_memory[] = {
    {"ld", lower_ld},
    {"ldu", lower_ld},
    {"st", lower_st},
    {"atom", lower_atom},
    {"red", lower_atom},
    {"cvta", lower_cvta},
    {"isspacep", lower_isspacep},
    {"prefetch", lower_prefetch},
    {"prefetchu", lower_prefetch},
    {"cp", lower_cp},
    {NULL, NULL},
};

// SPDX-License-Identifier: BSD-3-Clause
// Implements the common parts of lowering: modifiers, operand references for sources and
// destinations, constants, and the emission of instructions.
#include "sim/ptx/lower/lower.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_CONSTANTS (64u << 20)

void refuse(struct compiler *c, const char *why)
{
    char text[160] = "";
    struct ptx_statement *s = c->statement;
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", s->opcode);

    for (unsigned i = 0; i < s->mod_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ".%.*s", (int)s->mods[i].len,
                                 s->mods[i].text);
    compile_fail(c, -ENOTSUP, s->line, "instruction '%s' is not supported%s%s", text,
                 *why ? ": " : "", why);
}

void malformed(struct compiler *c, const char *why)
{
    compile_fail(c, -EINVAL, c->statement ? c->statement->line : c->token.line, "%s: %s",
                 c->statement ? c->statement->opcode : "@", why);
}

bool mod(struct compiler *c, const char *name)
{
    struct ptx_statement *s = c->statement;

    for (unsigned i = 0; i < s->mod_count; i++) {
        if (!s->mods[i].used && strlen(name) == s->mods[i].len &&
            !memcmp(s->mods[i].text, name, s->mods[i].len)) {
            s->mods[i].used = true;
            return true;
        }
    }
    return false;
}

enum type mod_type_optional(struct compiler *c)
{
    struct ptx_statement *s = c->statement;

    for (unsigned i = 0; i < s->mod_count; i++) {
        enum type t;

        if (s->mods[i].used)
            continue;
        t = type_by_name(s->mods[i].text, s->mods[i].len);
        if (t != TY_NONE) {
            s->mods[i].used = true;
            return t;
        }
    }
    return TY_NONE;
}

enum type mod_type(struct compiler *c)
{
    enum type t = mod_type_optional(c);

    if (t == TY_NONE)
        refuse(c, "no type that it works on");
    return t;
}

uint32_t new_temp(struct compiler *c, enum type t)
{
    return REF(REF_REG, new_reg(c, type_class(t)));
}

static uint32_t constant_room(struct compiler *c, bool wide)
{
    uint32_t size = wide ? LANES * 8 : LANES * 4, at = c->constant_bytes;

    if (at + size > c->constant_capacity) {
        uint32_t capacity = c->constant_capacity ? c->constant_capacity * 2 : 16384;
        uint8_t *bytes;

        if (capacity > MAX_CONSTANTS)
            compile_fail(c, -EINVAL, c->token.line, "too many constants");
        bytes = compile_scratch(c, capacity);
        memcpy(bytes, c->constants ? c->constants : bytes, c->constant_bytes);
        c->constants = bytes;
        c->constant_capacity = capacity;
    }
    c->constant_bytes += size;
    return at;
}

uint32_t const_ref(struct compiler *c, uint64_t value, bool wide)
{
    struct const_entry *e;
    uint32_t bucket;

    if (!wide)
        value = (uint32_t)value;
    bucket = (uint32_t)((value * 0x9E3779B97F4A7C15ull) >> 54) % CONST_BUCKETS;
    for (e = c->const_buckets[bucket]; e; e = e->next)
        if (e->value == value && e->wide == wide)
            return REF(REF_CONST, e->offset);
    e = compile_scratch(c, sizeof(*e));
    e->value = value;
    e->wide = wide;
    e->offset = constant_room(c, wide);
    e->next = c->const_buckets[bucket];
    c->const_buckets[bucket] = e;
    for (int i = 0; i < LANES; i++) {
        uint32_t word = (uint32_t)value;

        if (wide)
            memcpy(c->constants + e->offset + 8 * i, &value, 8);
        else
            memcpy(c->constants + e->offset + 4 * i, &word, 4);
    }
    return REF(REF_CONST, e->offset);
}

uint32_t const_reloc(struct compiler *c, bool wide, struct variable *variable,
                     struct ptx_function *function, int64_t addend)
{
    struct ptx_module *m = c->module;
    struct reloc r = {.variable = variable,
                      .function = function,
                      .addend = addend,
                      .in_const = true,
                      .size = wide ? 8 : 4};

    r.const_offset = constant_room(c, wide);
    m->relocs = compile_grow(c, m->relocs, m->reloc_count, &c->reloc_capacity, sizeof(r));
    m->relocs[m->reloc_count++] = r;
    return REF(REF_CONST, r.const_offset);
}

struct insn *emit(struct compiler *c, enum opcode op)
{
    struct insn *in;

    if (c->code_count >= 1u << 24)
        compile_fail(c, -EINVAL, c->token.line, "function too long");
    c->code = compile_grow(c, c->code, c->code_count, &c->code_capacity, sizeof(*in));
    in = &c->code[c->code_count++];
    memset(in, 0, sizeof(*in));
    in->op = (uint8_t)op;
    in->d = in->a = in->b = in->c = in->e = REF_NONE;
    in->d2 = NO_PRED;
    in->pred = NO_PRED;
    in->line = c->token.line;
    if (c->statement) {
        in->pred = c->statement->pred;
        in->pred_negated = c->statement->pred_negated;
        in->line = c->statement->line;
    }
    return in;
}

static void check_class(struct compiler *c, uint32_t ref, char wanted)
{
    static const char letters[] = {'w', 'd', 'p'};

    if (REF_BASE(ref) == REF_REG && wanted != '0' && letters[c->classes[REF_OFFSET(ref)]] != wanted)
        malformed(c, "operand of another size than the instruction's");
}

struct insn *emit_alu(struct compiler *c, const char *key, uint32_t d, uint32_t a, uint32_t b,
                      uint32_t e, uint32_t imm)
{
    const struct alu_row *row = alu_find(key);
    struct insn *in;

    if (!row)
        refuse(c, "");
    check_class(c, d, row->signature[0]);
    check_class(c, a, row->signature[1]);
    check_class(c, b, row->signature[2]);
    check_class(c, e, row->signature[3]);
    in = emit(c, OP_ALU);
    in->fn = row->fn;
    in->dst_class = row->signature[0] == 'd'   ? CLASS_DOUBLE
                    : row->signature[0] == 'p' ? CLASS_PRED
                                               : CLASS_WORD;
    in->d = d;
    in->a = a;
    in->b = b;
    in->c = e;
    in->imm = imm;
    return in;
}

struct operand *opd(struct compiler *c, unsigned index)
{
    if (index >= c->statement->operand_count)
        malformed(c, "operand missing");
    return c->statement->operands[index];
}

void want_operands(struct compiler *c, unsigned least, unsigned most)
{
    unsigned n = c->statement->operand_count;

    if (n < least)
        malformed(c, "operand missing");
    if (n > most)
        malformed(c, "too many operands");
}

// Returns the bits of a literal for the instruction's type.
static uint64_t literal_bits(struct compiler *c, const struct operand *o, enum type t)
{
    uint64_t bits = o->integer;
    double real = o->kind == OPD_FLOAT ? o->real : (double)(int64_t)o->integer;

    if (t == TY_F64) {
        memcpy(&bits, &real, 8);
    } else if (t == TY_F32) {
        float f = (float)real;
        uint32_t word;

        if (o->kind == OPD_FLOAT && o->is_f32)
            return o->integer;
        memcpy(&word, &f, 4);
        bits = word;
    } else if (o->kind == OPD_FLOAT && o->is_f32 && type_size(t) == 8) {
        malformed(c, "32-bit literal for a 64-bit operand");
    }
    return bits;
}

static uint32_t use_symbol(struct compiler *c, struct operand *o, bool wide)
{
    struct symbol *s = o->symbol;
    struct insn *in;

    if (s->kind == SYM_FUNCTION)
        return const_reloc(c, wide, NULL, s->function, o->offset);
    if (s->kind == SYM_PARAM && s->entry_param)
        return const_ref(c, s->offset + (uint64_t)o->offset, wide);
    if (s->kind == SYM_PARAM || (s->kind == SYM_VARIABLE && s->variable->space == SP_LOCAL)) {
        uint32_t d = REF(REF_REG, new_reg(c, wide ? CLASS_DOUBLE : CLASS_WORD));

        in = emit(c, OP_LOCAL_ADDRESS);
        in->pred = NO_PRED;
        in->d = d;
        in->dst_class = wide ? CLASS_DOUBLE : CLASS_WORD;
        in->imm = (uint32_t)((s->kind == SYM_PARAM ? s->offset : s->variable->address) +
                             (uint64_t)o->offset);
        return d;
    }
    if (s->kind != SYM_VARIABLE)
        malformed(c, "not an address");
    if (s->variable->space == SP_SHARED)
        c->function->uses_common_shared |= !s->variable->own_shared;
    if (s->variable->dynamic) {
        uint32_t base = REF(REF_LAUNCH, LAUNCH_DYNAMIC_OFFSET), d;

        d = REF(REF_REG, new_reg(c, wide ? CLASS_DOUBLE : CLASS_WORD));
        in = emit_alu(c, wide ? "add.b64" : "add.b32", d,
                      wide ? base : REF(REF_LAUNCH, LAUNCH_DYNAMIC_OFFSET32),
                      const_ref(c, (uint64_t)o->offset, wide), REF_NONE, 0);
        in->pred = NO_PRED;
        return d;
    }
    return const_reloc(c, wide, s->variable, NULL, o->offset);
}

uint32_t use_pred(struct compiler *c, struct operand *o)
{
    if (o->kind == OPD_INT)
        return const_ref(c, o->integer ? UINT32_MAX : 0, false);
    if (o->kind != OPD_REG || o->type != TY_PRED)
        malformed(c, "predicate expected");
    if (o->negated) {
        uint32_t d = REF(REF_REG, new_reg(c, CLASS_PRED));

        emit_alu(c, "not.pred", d, o->ref, REF_NONE, REF_NONE, 0)->pred = NO_PRED;
        return d;
    }
    return o->ref;
}

uint32_t use(struct compiler *c, struct operand *o, enum type t)
{
    bool wide = type_class(t) == CLASS_DOUBLE;

    if (t == TY_PRED)
        return use_pred(c, o);
    if (o->negated)
        malformed(c, "'!' before what is no predicate");
    switch (o->kind) {
    case OPD_REG:
        if (o->type == TY_PRED)
            malformed(c, "predicate where a value is expected");
        if (!wide && type_class(o->type) == CLASS_DOUBLE) {
            uint32_t d = REF(REF_REG, new_reg(c, CLASS_WORD));

            emit_alu(c, "cvt.u32.u64", d, o->ref, REF_NONE, REF_NONE, 0)->pred = NO_PRED;
            return d;
        }
        if (wide && type_class(o->type) != CLASS_DOUBLE)
            malformed(c, "operand of another size than the instruction's");
        return o->ref;
    case OPD_INT:
    case OPD_FLOAT: return const_ref(c, literal_bits(c, o, t), wide);
    case OPD_SYMBOL: return use_symbol(c, o, wide);
    case OPD_CLOCK: {
        bool wide_clock = type_class(o->type) == CLASS_DOUBLE;
        uint32_t d = REF(REF_REG, new_reg(c, wide_clock ? CLASS_DOUBLE : CLASS_WORD));
        struct insn *in = emit(c, OP_CLOCK);
        struct operand temp = {.kind = OPD_REG, .type = o->type, .ref = d};

        in->pred = NO_PRED;
        in->d = d;
        in->dst_class = wide_clock ? CLASS_DOUBLE : CLASS_WORD;
        in->imm = (uint32_t)o->integer;
        return use(c, &temp, t);
    }
    case OPD_NAME:
        compile_fail(c, -EINVAL, c->statement->line, "'%.*s' is not declared", (int)o->len,
                     o->name);
    case OPD_NONE:
    case OPD_VECTOR:
    case OPD_ADDRESS:
    case OPD_PAIR:
    case OPD_SINK:
    case OPD_LIST: break;
    }
    malformed(c, "a register or constant is expected");
}

uint32_t use_wide(struct compiler *c, struct operand *o)
{
    if (o->kind == OPD_REG && type_class(o->type) == CLASS_WORD) {
        uint32_t d = REF(REF_REG, new_reg(c, CLASS_DOUBLE));

        emit_alu(c, "cvt.u64.u32", d, o->ref, REF_NONE, REF_NONE, 0)->pred = NO_PRED;
        return d;
    }
    return use(c, o, TY_U64);
}

uint32_t define(struct compiler *c, struct operand *o, enum type t)
{
    enum reg_class class = type_class(t);

    if (o->kind == OPD_SINK)
        return REF(REF_REG, new_reg(c, class));
    if (o->kind != OPD_REG || o->special || o->negated)
        malformed(c, "destination is not a register");
    if ((t == TY_PRED) != (o->type == TY_PRED))
        malformed(c, "destination of another kind than the instruction's");
    if (class == CLASS_WORD && type_class(o->type) == CLASS_DOUBLE)
        return REF(REF_REG, new_reg(c, CLASS_WORD));
    if (class != type_class(o->type))
        malformed(c, "destination of another size than the instruction's");
    return o->ref;
}

// Extends a value narrower than its register to the register's width.
void define_done(struct compiler *c, struct operand *o, enum type t, uint32_t ref)
{
    if (o->kind == OPD_REG && o->ref != ref)
        emit_alu(c, type_kind(t) == 's' ? "cvt.s64.s32" : "cvt.u64.u32", o->ref, ref, REF_NONE,
                 REF_NONE, 0);
}

static const struct lowering *find_lowering(const char *name)
{
    static const struct lowering *const families[] = {
        lower_integer, lower_float,     lower_control, lower_memory,
        lower_move,    lower_mbarriers, lower_compare, lower_images,
    };

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        for (const struct lowering *l = families[i]; l->name; l++)
            if (!strcmp(l->name, name))
                return l;
    return NULL;
}

static void lower_statement(struct compiler *c, struct ptx_statement *s)
{
    const struct lowering *l = find_lowering(s->opcode);

    if (s->guard)
        s->pred = use_pred(c, s->guard);
    if (!l)
        refuse(c, "");
    if (!strcmp(s->opcode, "call")) {
        lower_call(c);
        return;
    }
    while (!token_is(c, ';')) {
        if (s->operand_count == MAX_OPERANDS)
            malformed(c, "too many operands");
        s->operands[s->operand_count++] = parse_operand(c);
        if (!token_accept(c, ','))
            break;
    }
    l->lower(c);
    for (unsigned i = 0; i < s->mod_count; i++)
        if (!s->mods[i].used) {
            char why[80];

            snprintf(why, sizeof(why), "modifier .%.*s",
                     s->mods[i].len > 50 ? 50 : (int)s->mods[i].len, s->mods[i].text);
            refuse(c, why);
        }
    token_expect(c, ';');
}

static void statement_end_function(struct compiler *c, struct ptx_function *f)
{
    emit(c, f->entry ? OP_EXIT : OP_RET);
    resolve_labels(c);
    allocate_registers(c, f);
    f->code = compile_keep(c, c->code, c->code_count * sizeof(*c->code));
    f->code_count = c->code_count;
    f->callees = compile_keep(c, f->callees, f->callee_count * sizeof(*f->callees));
    f->frame_bytes = (uint32_t)c->frame_bytes;
}

const struct lowering_steps lowering_steps = {.statement = lower_statement,
                                              .end = statement_end_function};

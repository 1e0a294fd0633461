// SPDX-License-Identifier: BSD-3-Clause
// Lowers branches, calls, barriers, and exchanges between the lanes of a warp.
#include "sim/ptx/lower/lower.h"

#include <errno.h>
#include <string.h>

static void lower_bra(struct compiler *c)
{
    struct operand *o = opd(c, 0);
    struct insn *in;

    mod(c, "uni");
    want_operands(c, 1, 1);
    if (o->kind != OPD_NAME)
        malformed(c, "label expected");
    in = emit(c, OP_BRA);
    add_fixup(c, (uint32_t)(in - c->code), NULL, o->name, o->len);
}

static void lower_brx(struct compiler *c)
{
    struct operand *list = opd(c, 1);
    uint32_t a;
    struct insn *in;

    if (!mod(c, "idx"))
        refuse(c, "");
    mod(c, "uni");
    want_operands(c, 2, 2);
    if (list->kind != OPD_SYMBOL || list->symbol->kind != SYM_TARGETS)
        malformed(c, "list of labels expected, declared before");
    a = use(c, opd(c, 0), TY_U32);
    in = emit(c, OP_BRX);
    in->a = a;
    in->table = list->symbol->table;
    in->loop = true;
}

static void add_callee(struct compiler *c, struct ptx_function *callee)
{
    struct ptx_function *f = c->function;

    for (uint32_t i = 0; i < f->callee_count; i++)
        if (f->callees[i] == callee)
            return;
    f->callees =
        compile_grow(c, f->callees, f->callee_count, &c->callee_capacity, sizeof(*f->callees));
    f->callees[f->callee_count++] = callee;
}

// Stores a register or constant parameter in frame memory, where other parameters lie.
static uint32_t spill(struct compiler *c, struct operand *o, enum type t, uint32_t *size)
{
    uint32_t offset, value;
    struct insn *in;
    struct memory_op *m;

    if (t == TY_PRED)
        refuse(c, "predicates as parameters");
    *size = type_size(t);
    offset = frame_reserve(c, *size, 8);
    value = use(c, o, t);
    in = emit(c, OP_ST);
    in->mem = m = compile_alloc(c, sizeof(*m));
    m->space = SP_LOCAL;
    m->frame_relative = true;
    m->size = (uint8_t)*size;
    m->count = 1;
    m->offset = offset;
    m->regs[0] = value;
    m->classes[0] = (uint8_t)type_class(t);
    m->text = "call";
    return offset;
}

static void unspill(struct compiler *c, struct operand *o, enum type t, uint32_t offset)
{
    struct memory_op *m = compile_alloc(c, sizeof(*m));
    struct insn *in = emit(c, OP_LD);

    in->mem = m;
    m->space = SP_LOCAL;
    m->frame_relative = true;
    m->size = (uint8_t)type_size(t);
    m->count = 1;
    m->sign_extend = type_kind(t) == 's';
    m->offset = offset;
    m->regs[0] = define(c, o, t);
    m->classes[0] = (uint8_t)type_class(t);
    m->text = "call";
}

struct call_parts {
    struct operand *returns, *args;
    struct operand *target;
    struct symbol *prototype;
};

static void parse_call(struct compiler *c, struct call_parts *p)
{
    static struct operand none;

    p->returns = p->args = &none;
    mod(c, "uni");
    if (token_is(c, '(')) {
        p->returns = parse_operand_list(c);
        token_expect(c, ',');
    }
    p->target = parse_operand(c);
    while (token_accept(c, ',')) {
        if (token_is(c, '(')) {
            p->args = parse_operand_list(c);
        } else {
            struct operand *o = parse_operand(c);

            if (o->kind != OPD_SYMBOL ||
                (o->symbol->kind != SYM_PROTOTYPE && o->symbol->kind != SYM_TARGETS))
                malformed(c, "prototype expected");
            p->prototype = o->symbol;
        }
    }
    token_expect(c, ';');
}

static bool is_frame_param(const struct operand *o)
{
    return o->kind == OPD_SYMBOL && o->symbol->kind == SYM_PARAM && !o->symbol->entry_param;
}

static void check_sizes(struct compiler *c, const char *what, uint32_t count, const uint32_t *sizes,
                        const struct formal *formals, uint32_t formal_count)
{
    if (count != formal_count)
        malformed(c, what);
    for (uint32_t i = 0; i < count; i++)
        if (sizes[i] != formals[i].size)
            malformed(c, what);
}

// Places the arguments and results in the frame.
static void lower_call_frame(struct compiler *c, const struct call_parts *p, struct call_op *call,
                             const struct formal *params, const struct formal *returns)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        struct operand *o = &p->args->elements[i];

        if (is_frame_param(o)) {
            call->args[i] = o->symbol->offset + (uint32_t)o->offset;
            call->arg_sizes[i] = o->symbol->size;
            if (o->offset)
                malformed(c, "offset in a parameter");
        } else {
            call->args[i] = spill(c, o, params[i].type, &call->arg_sizes[i]);
        }
    }
    for (uint32_t i = 0; i < call->ret_count; i++) {
        struct operand *o = &p->returns->elements[i];

        call->ret_sizes[i] = returns[i].size;
        if (is_frame_param(o)) {
            call->rets[i] = o->symbol->offset;
            call->ret_sizes[i] = o->symbol->size;
        } else {
            call->rets[i] = frame_reserve(c, returns[i].size, 8);
        }
    }
}

void lower_call(struct compiler *c)
{
    struct call_parts p = {0};
    struct ptx_function *callee = NULL;
    struct call_op *call = compile_alloc(c, sizeof(*call));
    const struct formal *params, *returns;
    uint32_t param_count, return_count, target = REF_NONE;
    struct insn *in;

    parse_call(c, &p);
    if (p.target->kind == OPD_SYMBOL && p.target->symbol->kind == SYM_FUNCTION)
        callee = p.target->symbol->function;
    else if (p.target->kind == OPD_NAME)
        compile_fail(c, -EINVAL, c->statement->line, "function '%.*s' is not declared",
                     (int)p.target->len, p.target->name);
    else
        target = use(c, p.target, TY_U64);
    if (callee && callee->entry)
        refuse(c, "an entry cannot be called");
    if (!callee && (!p.prototype || p.prototype->any_target))
        refuse(c, "an indirect call needs a prototype");
    params = callee ? callee->formals : p.prototype->proto_params;
    param_count = callee ? callee->formal_count : p.prototype->proto_param_count;
    returns = callee ? callee->returns : p.prototype->proto_returns;
    return_count = callee ? callee->return_count : p.prototype->proto_return_count;
    if (p.args->count != param_count || p.returns->count != return_count)
        malformed(c, "number of parameters differs from the declaration");

    call->callee = callee;
    call->arg_count = param_count;
    call->ret_count = return_count;
    call->args = compile_alloc(c, 4 * (size_t)(param_count + return_count + 1) * sizeof(uint32_t));
    call->arg_sizes = call->args + param_count;
    call->rets = call->arg_sizes + param_count;
    call->ret_sizes = call->rets + return_count;
    lower_call_frame(c, &p, call, params, returns);
    check_sizes(c, "parameters differ from the declaration", param_count, call->arg_sizes, params,
                param_count);
    check_sizes(c, "results differ from the declaration", return_count, call->ret_sizes, returns,
                return_count);
    in = emit(c, OP_CALL);
    in->a = target;
    in->call = call;
    in->loop = true;
    if (callee)
        add_callee(c, callee);
    else
        c->function->indirect_calls = true;
    for (uint32_t i = 0; i < return_count; i++)
        if (!is_frame_param(&p.returns->elements[i]) && p.returns->elements[i].kind != OPD_SINK)
            unspill(c, &p.returns->elements[i], returns[i].type, call->rets[i]);
    for (unsigned i = 0; i < c->statement->mod_count; i++)
        if (!c->statement->mods[i].used)
            refuse(c, "modifier");
}

static void lower_end(struct compiler *c)
{
    const char *op = c->statement->opcode;

    mod(c, "uni");
    want_operands(c, 0, 0);
    if (!strcmp(op, "trap"))
        emit(c, OP_TRAP);
    else if (!strcmp(op, "brkpt"))
        emit(c, OP_BRKPT);
    else if (!strcmp(op, "exit") || c->function->entry)
        emit(c, OP_EXIT);
    else
        emit(c, OP_RET);
}

// Lowers bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p.
static void lower_bar(struct compiler *c)
{
    uint32_t kind = BAR_SYNC, a, b = REF_NONE, p = REF_NONE;
    unsigned n = c->statement->operand_count, first = 0;
    struct insn *in;

    mod(c, "cta");
    mod(c, "aligned");
    if (mod(c, "warp")) {
        if (!mod(c, "sync"))
            refuse(c, "");
        want_operands(c, 1, 1);
        a = use(c, opd(c, 0), TY_B32);
        in = emit(c, OP_BAR_WARP);
        in->e = a;
        in->sync = true;
        return;
    }
    if (mod(c, "arrive")) {
        kind = BAR_ARRIVE;
        want_operands(c, 2, 2);
    } else if (mod(c, "red")) {
        kind = mod(c, "popc")  ? BAR_RED_POPC
               : mod(c, "and") ? BAR_RED_AND
               : mod(c, "or")  ? BAR_RED_OR
                               : UINT32_MAX;
        if (kind == UINT32_MAX ||
            (kind == BAR_RED_POPC ? mod_type(c) != TY_U32 : mod_type(c) != TY_PRED))
            refuse(c, "");
        want_operands(c, 3, 4);
        first = 1;
        p = use_pred(c, opd(c, n - 1));
        n--;
    } else if (mod(c, "sync")) {
        want_operands(c, 1, 2);
    } else {
        refuse(c, "");
    }
    a = use(c, opd(c, first), TY_U32);
    if (n > first + 1)
        b = use(c, opd(c, first + 1), TY_U32);
    in = emit(c, OP_BAR);
    in->a = a;
    in->b = b;
    in->c = p;
    in->imm = kind;
    if (first) {
        in->dst_class = kind == BAR_RED_POPC ? CLASS_WORD : CLASS_PRED;
        in->d = define(c, opd(c, 0), kind == BAR_RED_POPC ? TY_U32 : TY_PRED);
    }
}

static void lower_fence(struct compiler *c)
{
    static const char *const words[] = {"sc",      "acq_rel", "acquire", "release", "cta",
                                        "cluster", "gpu",     "gl",      "sys"};

    if (mod(c, "proxy")) {
        // alias and async proxies: all use one memory here
        static const char *const proxies[] = {"alias",        "async",  "async::generic",
                                              "async.global", "global", "shared::cta"};

        for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
            mod(c, proxies[i]);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        mod(c, words[i]);
    want_operands(c, 0, 0);
    emit(c, OP_FENCE);
}

static void lower_nanosleep(struct compiler *c)
{
    if (mod_type(c) != TY_U32)
        refuse(c, "type");
    want_operands(c, 1, 1);
    emit(c, OP_NANOSLEEP);
}

static void lower_nothing(struct compiler *c)
{
    struct ptx_statement *s = c->statement;

    if (!strcmp(s->opcode, "griddepcontrol") && !mod(c, "wait") && !mod(c, "launch_dependents"))
        refuse(c, "");
    if (!strcmp(s->opcode, "setmaxnreg")) {
        mod(c, "inc");
        mod(c, "dec");
        mod(c, "sync");
        mod(c, "aligned");
        mod_type(c);
    }
    emit(c, OP_NOP);
}

static void lower_shfl(struct compiler *c)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    bool sync = mod(c, "sync");
    struct operand *to = opd(c, 0), *value = to;
    uint32_t mode, a, b, e, mask = REF_NONE;
    struct insn *in;

    for (mode = 0; mode < 4; mode++)
        if (mod(c, modes[mode]))
            break;
    if (mode == 4 || mod_type(c) != TY_B32)
        refuse(c, "");
    want_operands(c, 4 + sync, 4 + sync);
    a = use(c, opd(c, 1), TY_B32);
    b = use(c, opd(c, 2), TY_B32);
    e = use(c, opd(c, 3), TY_B32);
    if (sync)
        mask = use(c, opd(c, 4), TY_B32);
    in = emit(c, OP_SHFL);
    in->a = a;
    in->b = b;
    in->c = e;
    in->e = mask;
    in->sync = sync;
    in->imm = mode;
    if (to->kind == OPD_PAIR) {
        in->d2 = define(c, &to->elements[1], TY_PRED);
        value = &to->elements[0];
    }
    in->d = define(c, value, TY_B32);
    in->dst_class = CLASS_WORD;
}

static void lower_vote(struct compiler *c)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    bool sync = mod(c, "sync");
    uint32_t mode, a, mask = REF_NONE;
    enum type t;
    struct insn *in;

    for (mode = 0; mode < 4; mode++)
        if (mod(c, modes[mode]))
            break;
    t = mod_type(c);
    if (mode == 4 || t != (mode == VOTE_BALLOT ? TY_B32 : TY_PRED))
        refuse(c, "");
    want_operands(c, 2 + sync, 2 + sync);
    a = use_pred(c, opd(c, 1));
    if (sync)
        mask = use(c, opd(c, 2), TY_B32);
    in = emit(c, OP_VOTE);
    in->a = a;
    in->e = mask;
    in->sync = sync;
    in->imm = mode;
    in->dst_class = (uint8_t)type_class(t);
    in->d = define(c, opd(c, 0), t);
}

static void lower_match(struct compiler *c)
{
    bool all = mod(c, "all");
    struct operand *to = opd(c, 0), *value = to;
    uint32_t a, mask;
    enum type t;
    struct insn *in;

    if ((!all && !mod(c, "any")) || !mod(c, "sync"))
        refuse(c, "");
    t = mod_type(c);
    if (t != TY_B32 && t != TY_B64)
        refuse(c, "type");
    want_operands(c, 3, 3);
    a = use(c, opd(c, 1), t);
    mask = use(c, opd(c, 2), TY_B32);
    in = emit(c, OP_MATCH);
    in->a = a;
    in->e = mask;
    in->sync = true;
    in->imm = all | (t == TY_B64 ? 2u : 0u);
    if (to->kind == OPD_PAIR) {
        in->d2 = define(c, &to->elements[1], TY_PRED);
        value = &to->elements[0];
    }
    in->dst_class = CLASS_WORD;
    in->d = define(c, value, TY_B32);
}

static void lower_redux(struct compiler *c)
{
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    uint32_t op, a, mask;
    enum type t;
    struct insn *in;

    if (!mod(c, "sync"))
        refuse(c, "");
    for (op = 0; op < 6; op++)
        if (mod(c, ops[op]))
            break;
    t = mod_type(c);
    if (op == 6 || (t != TY_U32 && t != TY_S32 && t != TY_B32) ||
        (op >= REDUX_AND) != (t == TY_B32))
        refuse(c, "type");
    want_operands(c, 3, 3);
    a = use(c, opd(c, 1), t);
    mask = use(c, opd(c, 2), TY_B32);
    in = emit(c, OP_REDUX);
    in->a = a;
    in->e = mask;
    in->sync = true;
    in->imm = op | (t == TY_S32 ? 16u : 0u);
    in->dst_class = CLASS_WORD;
    in->d = define(c, opd(c, 0), t);
}

static void lower_elect(struct compiler *c)
{
    struct operand *to = opd(c, 0);
    uint32_t mask;
    struct insn *in;

    if (!mod(c, "sync") || to->kind != OPD_PAIR)
        refuse(c, "");
    want_operands(c, 2, 2);
    mask = use(c, opd(c, 1), TY_B32);
    in = emit(c, OP_ELECT);
    in->e = mask;
    in->sync = true;
    in->dst_class = CLASS_WORD;
    in->d = define(c, &to->elements[0], TY_B32);
    in->d2 = define(c, &to->elements[1], TY_PRED);
}

static void lower_activemask(struct compiler *c)
{
    struct insn *in;

    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    want_operands(c, 1, 1);
    in = emit(c, OP_ACTIVEMASK);
    in->dst_class = CLASS_WORD;
    in->d = define(c, opd(c, 0), TY_B32);
}

const struct lowering lower_control[] = {
    {"bra", lower_bra},
    {"brx", lower_brx},
    {"call", lower_bra},
    {"ret", lower_end},
    {"exit", lower_end},
    {"trap", lower_end},
    {"brkpt", lower_end},
    {"bar", lower_bar},
    {"barrier", lower_bar},
    {"membar", lower_fence},
    {"fence", lower_fence},
    {"nanosleep", lower_nanosleep},
    {"pmevent", lower_nothing},
    {"griddepcontrol", lower_nothing},
    {"setmaxnreg", lower_nothing},
    {"shfl", lower_shfl},
    {"vote", lower_vote},
    {"match", lower_match},
    {"redux", lower_redux},
    {"elect", lower_elect},
    {"activemask", lower_activemask},
    {NULL, NULL},
};

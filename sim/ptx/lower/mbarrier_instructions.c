// SPDX-License-Identifier: BSD-3-Clause
// Lowers operations on mbarrier objects, and the copies that complete on them.
#include "sim/ptx/lower/lower.h"

#include <string.h>

// Skips scopes and memory orders, which make no difference within a block here.
static void skip_order(struct compiler *c)
{
    static const char *const words[] = {"release", "acquire", "relaxed", "cta", "cluster", "b64"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        mod(c, words[i]);
}

static enum space mbarrier_space(struct compiler *c)
{
    return mod(c, "shared") || mod(c, "shared::cta") || mod(c, "shared::cluster") ? SP_SHARED
                                                                                  : SP_GENERIC;
}

// Emits the operation on the object at `address`.
static struct insn *emit_mbarrier(struct compiler *c, enum mbarrier_op op, enum space space,
                                  struct operand *address, uint32_t b)
{
    struct insn *in = emit(c, OP_MBARRIER);

    in->b = b;
    in->imm = op;
    memory_operand(c, in, address, space, 8);
    return &c->code[c->code_count - 1];
}

static void lower_arrive(struct compiler *c, bool drop, bool expect)
{
    bool no_complete = mod(c, "noComplete");
    enum space space = mbarrier_space(c);
    struct operand *to;
    unsigned n = c->statement->operand_count, first = 1;
    uint32_t count;
    struct insn *in;

    skip_order(c);
    if (n && opd(c, 0)->kind == OPD_ADDRESS)
        first = 0; // without a result
    want_operands(c, first + 1, first + 2);
    if (n == first + 2)
        count = use(c, opd(c, first + 1), TY_U32);
    else if (no_complete || expect)
        malformed(c, "operand missing");
    else
        count = const_ref(c, 1, false);
    in = emit_mbarrier(c,
                       expect ? MBARRIER_ARRIVE_EXPECT
                       : drop ? MBARRIER_ARRIVE_DROP
                              : MBARRIER_ARRIVE,
                       space, opd(c, first), count);
    to = opd(c, 0);
    in->dst_class = CLASS_DOUBLE;
    in->d = REF(REF_REG, new_reg(c, CLASS_DOUBLE));
    if (first && to->kind != OPD_SINK)
        in->d = define(c, to, TY_B64);
}

static void lower_wait(struct compiler *c)
{
    bool parity = mod(c, "parity");
    enum space space = mbarrier_space(c);
    uint32_t state;
    struct insn *in;

    skip_order(c);
    want_operands(c, 3, 4); // the fourth limits the time of a wait
    state = parity ? use(c, opd(c, 2), TY_U32) : use(c, opd(c, 2), TY_B64);
    in = emit_mbarrier(c, parity ? MBARRIER_WAIT_PARITY : MBARRIER_WAIT, space, opd(c, 1), state);
    in->dst_class = CLASS_PRED;
    in->d = define(c, opd(c, 0), TY_PRED);
}

static void lower_mbarrier(struct compiler *c)
{
    uint32_t value = REF_NONE;
    enum space space;

    if (mod(c, "arrive")) {
        lower_arrive(c, false, mod(c, "expect_tx"));
    } else if (mod(c, "arrive_drop")) {
        if (mod(c, "expect_tx"))
            refuse(c, "modifier .expect_tx");
        lower_arrive(c, true, false);
    } else if (mod(c, "test_wait") || mod(c, "try_wait")) {
        lower_wait(c);
    } else if (mod(c, "init") || mod(c, "expect_tx") || mod(c, "complete_tx")) {
        char which = c->statement->mods[0].text[0];

        space = mbarrier_space(c);
        skip_order(c);
        want_operands(c, 2, 2);
        value = use(c, opd(c, 1), TY_U32);
        emit_mbarrier(c,
                      which == 'i'   ? MBARRIER_INIT
                      : which == 'e' ? MBARRIER_EXPECT
                                     : MBARRIER_COMPLETE,
                      space, opd(c, 0), value);
    } else if (mod(c, "inval")) {
        space = mbarrier_space(c);
        skip_order(c);
        want_operands(c, 1, 1);
        emit_mbarrier(c, MBARRIER_INVAL, space, opd(c, 0), value);
    } else if (mod(c, "pending_count")) {
        skip_order(c);
        want_operands(c, 2, 2);
        value = use(c, opd(c, 1), TY_B64);
        emit_alu(c, "mbarrier.pending", define(c, opd(c, 0), TY_U32), value, REF_NONE, REF_NONE, 0);
    } else {
        refuse(c, "");
    }
}

void lower_cp_async_mbarrier(struct compiler *c)
{
    bool counted = mod(c, "noinc");
    enum space space = mbarrier_space(c);

    if (!mod(c, "arrive"))
        refuse(c, "");
    skip_order(c);
    want_operands(c, 1, 1);
    // Copies are done when they are issued. Without .noinc, the copy increments the expected
    // arrivals and then arrives, which leaves the object unchanged.
    if (counted)
        emit_mbarrier(c, MBARRIER_ARRIVE, space, opd(c, 0), const_ref(c, 1, false));
    else
        emit(c, OP_NOP);
}

// Lowers cp.async.bulk: copies whole ranges. A copy to shared memory reports its bytes to an
// mbarrier.
void lower_cp_async_bulk(struct compiler *c)
{
    struct memory_op *from, *to;
    bool in_shared, out_shared = false;
    uint32_t size, a, b;
    struct insn *in;

    if (mod(c, "commit_group") || mod(c, "wait_group")) {
        mod(c, "read");
        emit(c, OP_NOP);
        return;
    }
    in_shared = mod(c, "shared::cluster");
    if (!in_shared && mod(c, "shared::cta")) {
        // the first state space is the destination's
        if (c->statement->mods[2].len == strlen("shared::cta"))
            in_shared = true;
        else
            out_shared = true;
    }
    if (!mod(c, "global") || in_shared == out_shared)
        refuse(c, "");
    bool on_mbarrier = mod(c, "mbarrier::complete_tx::bytes"), in_group = mod(c, "bulk_group");
    if (in_shared ? !on_mbarrier : !in_group)
        refuse(c, "");
    want_operands(c, 3 + on_mbarrier, 3 + on_mbarrier);
    size = use(c, opd(c, 2), TY_U32);
    in = emit(c, OP_CP_BULK);
    from = memory_operand(c, in, opd(c, 1), in_shared ? SP_GLOBAL : SP_SHARED, 16);
    a = c->code[c->code_count - 1].a;
    to = memory_operand(c, &c->code[c->code_count - 1], opd(c, 0),
                        in_shared ? SP_SHARED : SP_GLOBAL, 16);
    in = &c->code[c->code_count - 1];
    b = in->a;
    in->a = a;
    in->b = b;
    in->c = size;
    in->mem = from;
    from->destination = to;
    if (on_mbarrier)
        emit_mbarrier(c, MBARRIER_COMPLETE, SP_SHARED, opd(c, 3), size);
}

const struct lowering lower_mbarriers[] = {
    {"mbarrier", lower_mbarrier},
    {NULL, NULL},
};

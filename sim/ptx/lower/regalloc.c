// SPDX-License-Identifier: BSD-3-Clause
// Assigns virtual registers to slots in the frame. Liveness is computed over basic blocks as for a
// single thread, which is right for all lanes because no lane touches values of another. Registers
// whose live ranges do not overlap share a slot, so that a warp's registers fit into the
// first-level cache.
#include "sim/ptx/lower/lower.h"

#include <errno.h>
#include <stdlib.h>

// Above this many liveness bits, every register gets its own slot.
#define MAX_LIVENESS_BITS (1ull << 30)

void insn_visit(struct insn *in, ref_visitor *visit, void *argument)
{
    if (in->pred != NO_PRED)
        visit(argument, &in->pred, false);
    visit(argument, &in->a, false);
    visit(argument, &in->b, false);
    visit(argument, &in->c, false);
    visit(argument, &in->e, false);
    if (in->op == OP_ST)
        for (unsigned i = 0; i < in->mem->count; i++)
            visit(argument, &in->mem->regs[i], false);
    if (in->op == OP_LD)
        for (unsigned i = 0; i < in->mem->count; i++)
            visit(argument, &in->mem->regs[i], true);
    if (in->op == OP_ATOM)
        visit(argument, &in->mem->regs[0], true);
    if (in->op == OP_TEXTURE || in->op == OP_SURFACE || in->op == OP_IMAGE_QUERY) {
        for (unsigned i = 0; i < in->image->source_count; i++)
            visit(argument, &in->image->sources[i], false);
        for (unsigned i = 0; i < in->image->result_count; i++)
            visit(argument, &in->image->results[i], true);
    }
    visit(argument, &in->d, true);
    if (in->d2 != NO_PRED)
        visit(argument, &in->d2, true);
}

struct basic_block {
    uint32_t start, end; // instructions
    uint32_t next[2];    // blocks, or UINT32_MAX
    struct branch_table *table;
};

struct live_range {
    uint32_t first, last;
    uint32_t reg;
};

struct allocator {
    struct compiler *c;
    struct basic_block *blocks;
    uint32_t block_count;
    uint32_t *block_of; // of instructions that start a block
    size_t words;       // words of one register set
    uint64_t *in, *out, *use, *def;
    struct live_range *ranges; // by register; first > last: unused
    uint32_t *places;
    uint32_t at;      // the instruction being visited
    uint32_t current; // its block
    bool flat;        // slots are not shared
};

static uint64_t *set_of(struct allocator *a, uint64_t *sets, uint32_t block)
{
    return sets + a->words * block;
}

static bool set_has(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static bool ends_block(const struct insn *in)
{
    return in->op == OP_BRA || in->op == OP_BRX || in->op == OP_RET || in->op == OP_EXIT;
}

static void find_blocks(struct allocator *a)
{
    struct compiler *c = a->c;
    uint32_t n = c->code_count;
    uint8_t *starts = compile_scratch(c, n + 1);

    starts[0] = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct insn *in = &c->code[i];

        if (ends_block(in))
            starts[i + 1] = 1;
        if (in->op == OP_BRA)
            starts[in->imm] = 1;
        if (in->op == OP_BRX)
            for (uint32_t k = 0; k < in->table->count; k++)
                starts[in->table->targets[k]] = 1;
    }
    a->block_of = compile_scratch(c, (n + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++)
        a->block_count += starts[i];
    a->blocks = compile_scratch(c, a->block_count * sizeof(*a->blocks));
    uint32_t b = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!starts[i])
            continue;
        a->blocks[b].start = i;
        a->block_of[i] = b;
        if (b)
            a->blocks[b - 1].end = i;
        b++;
    }
    a->blocks[b - 1].end = n;
}

static void link_blocks(struct allocator *a)
{
    for (uint32_t b = 0; b < a->block_count; b++) {
        struct basic_block *block = &a->blocks[b];
        const struct insn *last = &a->c->code[block->end - 1];
        bool falls = true;

        block->next[0] = block->next[1] = UINT32_MAX;
        if (last->op == OP_BRA)
            block->next[0] = a->block_of[last->imm];
        if (last->op == OP_BRX)
            block->table = last->table;
        if (ends_block(last) && last->pred == NO_PRED)
            falls = false;
        if (falls && b + 1 < a->block_count)
            block->next[1] = b + 1;
    }
}

static void note_block(void *argument, uint32_t *ref, bool definition)
{
    struct allocator *a = argument;
    uint32_t r = REF_OFFSET(*ref);
    uint64_t *use, *def;

    if (REF_BASE(*ref) != REF_REG)
        return;
    use = set_of(a, a->use, a->current);
    def = set_of(a, a->def, a->current);
    if (definition) {
        // Under a predicate the old value may stay live.
        if (a->c->code[a->at].pred == NO_PRED)
            def[r / 64] |= 1ull << r % 64;
        else if (!set_has(def, r))
            use[r / 64] |= 1ull << r % 64;
    } else if (!set_has(def, r)) {
        use[r / 64] |= 1ull << r % 64;
    }
}

static bool merge_successor(struct allocator *a, uint64_t *out, uint32_t next)
{
    const uint64_t *in;
    bool changed = false;

    if (next == UINT32_MAX)
        return false;
    in = set_of(a, a->in, next);
    for (size_t w = 0; w < a->words; w++) {
        changed |= (in[w] & ~out[w]) != 0;
        out[w] |= in[w];
    }
    return changed;
}

static void flow(struct allocator *a)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t b = a->block_count; b-- > 0;) {
            struct basic_block *block = &a->blocks[b];
            uint64_t *out = set_of(a, a->out, b), *in = set_of(a, a->in, b);
            const uint64_t *use = set_of(a, a->use, b), *def = set_of(a, a->def, b);

            merge_successor(a, out, block->next[0]);
            merge_successor(a, out, block->next[1]);
            for (uint32_t k = 0; block->table && k < block->table->count; k++)
                merge_successor(a, out, a->block_of[block->table->targets[k]]);
            for (size_t w = 0; w < a->words; w++) {
                uint64_t live = use[w] | (out[w] & ~def[w]);

                changed |= live != in[w];
                in[w] = live;
            }
        }
    }
}

static void regalloc_extend(struct allocator *a, uint32_t reg, uint32_t at)
{
    struct live_range *r = &a->ranges[reg];

    if (at < r->first)
        r->first = at;
    if (at > r->last || r->last == UINT32_MAX)
        r->last = at;
    r->reg = reg;
}

// Extends a live range. Instruction i reads and writes at position 2i+1, so a destination never
// shares a slot with another source register of the same instruction.
static void note_range(void *argument, uint32_t *ref, bool definition)
{
    struct allocator *a = argument;

    if (REF_BASE(*ref) == REF_REG)
        regalloc_extend(a, REF_OFFSET(*ref), 2 * a->at + 1);
}

static void find_ranges(struct allocator *a)
{
    struct compiler *c = a->c;

    for (uint32_t i = 0; i < c->reg_count; i++)
        a->ranges[i] = (struct live_range){UINT32_MAX, 0, i};
    for (uint32_t b = 0; b < a->block_count; b++) {
        struct basic_block *block = &a->blocks[b];

        for (a->at = block->start; a->at < block->end; a->at++)
            insn_visit(&c->code[a->at], note_range, a);
        for (size_t w = 0; w < a->words; w++) {
            for (uint64_t set = set_of(a, a->in, b)[w]; set; set &= set - 1)
                regalloc_extend(a, (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(set),
                                2 * block->start);
            for (uint64_t set = set_of(a, a->out, b)[w]; set; set &= set - 1)
                regalloc_extend(a, (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(set),
                                2 * block->end + 1);
        }
    }
}

static int by_start(const void *x, const void *y)
{
    const struct live_range *a = x, *b = y;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->reg < b->reg ? -1 : a->reg > b->reg;
}

// The slots of one class, with the position after which each is free. A heap is not worth it for
// the few slots in use at once.
struct register_pool {
    uint32_t *busy_until;
    uint32_t count, capacity;
};

static uint32_t regalloc_take_place(struct compiler *c, struct register_pool *pool,
                                    const struct live_range *r, bool flat)
{
    for (uint32_t i = 0; !flat && i < pool->count; i++) {
        if (pool->busy_until[i] < r->first) {
            pool->busy_until[i] = r->last;
            return i;
        }
    }
    pool->busy_until =
        compile_grow(c, pool->busy_until, pool->count, &pool->capacity, sizeof(*pool->busy_until));
    pool->busy_until[pool->count] = r->last;
    return pool->count++;
}

static void rewrite(void *argument, uint32_t *ref, bool definition)
{
    struct allocator *a = argument;

    if (REF_BASE(*ref) == REF_REG)
        *ref = REF(REF_REG, a->places[REF_OFFSET(*ref)]);
}

static void assign(struct allocator *a, struct ptx_function *f)
{
    static const uint32_t sizes[] = {LANES * 4, LANES * 8, 4};
    struct compiler *c = a->c;
    struct register_pool pools[3] = {0};
    struct live_range *sorted = compile_scratch(c, (c->reg_count + 1) * sizeof(*sorted));
    uint32_t n = 0, starts[3];

    for (uint32_t i = 0; i < c->reg_count; i++)
        if (a->ranges[i].first <= a->ranges[i].last)
            sorted[n++] = a->ranges[i];
    qsort(sorted, n, sizeof(*sorted), by_start);
    for (uint32_t i = 0; i < n; i++)
        a->places[sorted[i].reg] =
            regalloc_take_place(c, &pools[c->classes[sorted[i].reg]], &sorted[i], a->flat);
    starts[CLASS_DOUBLE] = 0;
    starts[CLASS_WORD] = pools[CLASS_DOUBLE].count * sizes[CLASS_DOUBLE];
    starts[CLASS_PRED] = starts[CLASS_WORD] + pools[CLASS_WORD].count * sizes[CLASS_WORD];
    for (uint32_t i = 0; i < c->reg_count; i++)
        a->places[i] = starts[c->classes[i]] + a->places[i] * sizes[c->classes[i]];
    f->regs_bytes = starts[CLASS_PRED] + pools[CLASS_PRED].count * 4;
    if (f->regs_bytes > 64u << 20)
        compile_fail(c, -EINVAL, f->line, "%s: too many registers", f->name);
    f->info.registers = 16 + pools[CLASS_WORD].count + 2 * pools[CLASS_DOUBLE].count;
    if (f->info.registers > 255)
        f->info.registers = 255;
}

static void keep_formals(struct allocator *a, struct formal *formals, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (formals[i].in_reg)
            formals[i].reg = a->places[formals[i].reg - 1] + 1;
}

void allocate_registers(struct compiler *c, struct ptx_function *f)
{
    struct allocator a = {.c = c, .words = (c->reg_count + 63) / 64};

    find_blocks(&a);
    link_blocks(&a);
    a.ranges = compile_scratch(c, (c->reg_count + 1) * sizeof(*a.ranges));
    a.places = compile_scratch(c, (c->reg_count + 1) * sizeof(*a.places));
    if ((uint64_t)c->reg_count * a.block_count > MAX_LIVENESS_BITS) {
        a.flat = true;
        for (uint32_t i = 0; i < c->reg_count; i++)
            a.ranges[i] = (struct live_range){0, 2 * c->code_count + 2, i};
    } else {
        size_t bytes = a.words * a.block_count * sizeof(uint64_t);

        a.in = compile_scratch(c, bytes + 8);
        a.out = compile_scratch(c, bytes + 8);
        a.use = compile_scratch(c, bytes + 8);
        a.def = compile_scratch(c, bytes + 8);
        for (a.current = 0; a.current < a.block_count; a.current++)
            for (a.at = a.blocks[a.current].start; a.at < a.blocks[a.current].end; a.at++)
                insn_visit(&c->code[a.at], note_block, &a);
        flow(&a);
        find_ranges(&a);
    }
    // The caller writes register formals before the first instruction.
    for (uint32_t i = 0; i < f->formal_count; i++)
        if (f->formals[i].in_reg)
            regalloc_extend(&a, f->formals[i].reg - 1, 0);
    for (uint32_t i = 0; i < f->return_count; i++)
        if (f->returns[i].in_reg) {
            regalloc_extend(&a, f->returns[i].reg - 1, 0);
            regalloc_extend(&a, f->returns[i].reg - 1, 2 * c->code_count + 2);
        }
    assign(&a, f);
    for (a.at = 0; a.at < c->code_count; a.at++)
        insn_visit(&c->code[a.at], rewrite, &a);
    keep_formals(&a, f->formals, f->formal_count);
    keep_formals(&a, f->returns, f->return_count);
}

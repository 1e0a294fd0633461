// SPDX-License-Identifier: BSD-3-Clause
// Executes instructions in which the lanes of a warp exchange values: shuffles, votes, matches.
#include "sim/ptx/run/exec.h"

void write_word(struct warp *w, uint32_t ref, uint32_t mask, const uint32_t values[LANES])
{
    uint32_t *d = (uint32_t *)ref_at(w, ref);

    for (int i = 0; i < LANES; i++)
        if (mask >> i & 1)
            d[i] = values[i];
}

void write_pred(struct warp *w, uint32_t ref, uint32_t mask, uint32_t value)
{
    uint32_t *d = (uint32_t *)ref_at(w, ref);

    *d = (*d & ~mask) | (value & mask);
}

// Computes the source lane of a shuffle. Returns true if it lies within the lane's segment.
static bool shuffle_source(uint32_t mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t *source)
{
    uint32_t clamp = c & 31, segment = c >> 8 & 31;
    uint32_t low = lane & segment, high = low | (clamp & ~segment);
    int32_t j;
    bool inside;

    b &= 31;
    switch (mode) {
    case SHFL_UP:
        j = (int32_t)lane - (int32_t)b;
        inside = j >= (int32_t)high;
        break;
    case SHFL_DOWN:
        j = (int32_t)(lane + b);
        inside = j <= (int32_t)high;
        break;
    case SHFL_BFLY:
        j = (int32_t)(lane ^ b);
        inside = j <= (int32_t)high;
        break;
    default:
        j = (int32_t)(low | (b & ~segment));
        inside = j <= (int32_t)high;
        break;
    }
    *source = inside ? (uint32_t)j : lane;
    return inside;
}

static void exec_shuffle(struct warp *w, const struct insn *in, uint32_t mask)
{
    const uint32_t *a = (const uint32_t *)ref_at(w, in->a);
    const uint32_t *b = (const uint32_t *)ref_at(w, in->b);
    const uint32_t *c = (const uint32_t *)ref_at(w, in->c);
    uint32_t values[LANES], valid = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t source;

        if (shuffle_source(in->imm, i, b[i], c[i], &source))
            valid |= 1u << i;
        values[i] = a[source & 31];
    }
    write_word(w, in->d, mask, values);
    if (in->d2 != NO_PRED)
        write_pred(w, in->d2, mask, valid);
}

// Returns the lanes that participate with lane i.
static uint32_t members(const struct warp *w, const struct insn *in, uint32_t mask, uint32_t lane)
{
    return in->sync ? mask & ((const uint32_t *)ref_at(w, in->e))[lane] : mask;
}

static void exec_vote(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t p = *(const uint32_t *)ref_at(w, in->a), values[LANES], result = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t m = members(w, in, mask, i), yes = p & m;
        bool r = in->imm == VOTE_ALL ? yes == m : in->imm == VOTE_ANY ? yes != 0 : yes == m || !yes;

        values[i] = yes;
        result |= r ? 1u << i : 0;
    }
    if (in->imm == VOTE_BALLOT)
        write_word(w, in->d, mask, values);
    else
        write_pred(w, in->d, mask, result);
}

static uint64_t lane_value(const struct warp *w, const struct insn *in, uint32_t lane)
{
    const char *a = ref_at(w, in->a);

    return in->imm & MATCH_64 ? ((const uint64_t *)a)[lane] : ((const uint32_t *)a)[lane];
}

static void exec_match(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t values[LANES] = {0}, all = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t m = members(w, in, mask, i), same = 0;

        if (!(mask >> i & 1))
            continue;
        for (uint32_t k = 0; k < LANES; k++)
            if (m >> k & 1 && lane_value(w, in, k) == lane_value(w, in, i))
                same |= 1u << k;
        if (same == m)
            all |= 1u << i;
        values[i] = in->imm & MATCH_ALL ? (same == m ? m : 0) : same;
    }
    write_word(w, in->d, mask, values);
    if (in->d2 != NO_PRED)
        write_pred(w, in->d2, mask, all);
}

static uint32_t lanes_reduce(uint32_t op, uint32_t x, uint32_t y)
{
    switch (op) {
    case REDUX_ADD: return x + y;
    case REDUX_MIN: return x < y ? x : y;
    case REDUX_MAX: return x > y ? x : y;
    case REDUX_MIN | REDUX_SIGNED: return (int32_t)x < (int32_t)y ? x : y;
    case REDUX_MAX | REDUX_SIGNED: return (int32_t)x > (int32_t)y ? x : y;
    case REDUX_AND: return x & y;
    case REDUX_OR: return x | y;
    case REDUX_XOR: return x ^ y;
    }
    return x + y;
}

static void exec_redux(struct warp *w, const struct insn *in, uint32_t mask)
{
    const uint32_t *a = (const uint32_t *)ref_at(w, in->a);
    uint32_t values[LANES] = {0};

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t m = members(w, in, mask, i), r;

        if (!(mask >> i & 1) || !m)
            continue;
        r = a[first_lane(m)];
        for (m &= m - 1; m; m &= m - 1)
            r = lanes_reduce(in->imm, r, a[first_lane(m)]);
        values[i] = r;
    }
    write_word(w, in->d, mask, values);
}

static void exec_elect(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t values[LANES], chosen = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t m = members(w, in, mask, i);

        values[i] = m ? first_lane(m) : i;
        chosen |= values[i] == i ? 1u << i : 0;
    }
    write_word(w, in->d, mask, values);
    write_pred(w, in->d2, mask, chosen);
}

void exec_lanes(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t values[LANES];

    switch ((enum opcode)in->op) {
    case OP_SHFL: exec_shuffle(w, in, mask); break;
    case OP_VOTE: exec_vote(w, in, mask); break;
    case OP_MATCH: exec_match(w, in, mask); break;
    case OP_REDUX: exec_redux(w, in, mask); break;
    case OP_ELECT: exec_elect(w, in, mask); break;
    case OP_ACTIVEMASK:
        for (int i = 0; i < LANES; i++)
            values[i] = mask;
        write_word(w, in->d, mask, values);
        break;
    default: break;
    }
}

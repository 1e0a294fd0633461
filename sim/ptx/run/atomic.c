// SPDX-License-Identifier: BSD-3-Clause
// Executes atomic operations on device memory with atomic operations of the host.
#include "sim/ptx/run/exec.h"

#include "sim/ptx/alu/alu.h"
#include "sim/ptx/alu/small_float.h"

// Integers: single host operations where available, compare-and-swap loops otherwise.
#define LOOP(T, expr) \
    do { \
        old = __atomic_load_n(p, __ATOMIC_RELAXED); \
        for (;;) { \
            T new = (expr); \
            if (__atomic_compare_exchange_n(p, &old, new, true, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) \
                break; \
        } \
    } while (0)

#define INTEGER(name, T) \
    static T name(enum atom_op op, T *p, T b, T c) \
    { \
        T old = 0; \
        switch (op) { \
        case ATOM_ADD: return __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST); \
        case ATOM_AND: return __atomic_fetch_and(p, b, __ATOMIC_SEQ_CST); \
        case ATOM_OR: return __atomic_fetch_or(p, b, __ATOMIC_SEQ_CST); \
        case ATOM_XOR: return __atomic_fetch_xor(p, b, __ATOMIC_SEQ_CST); \
        case ATOM_EXCH: return __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST); \
        case ATOM_CAS: \
            old = b; \
            __atomic_compare_exchange_n(p, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
            return old; \
        case ATOM_MIN: LOOP(T, b < old ? b : old); break; \
        case ATOM_MAX: LOOP(T, b > old ? b : old); break; \
        case ATOM_INC: LOOP(T, old >= b ? 0 : old + 1); break; \
        case ATOM_DEC: LOOP(T, old == 0 || old > b ? b : old - 1); break; \
        } \
        return old; \
    }
INTEGER(atom_u32, uint32_t)
INTEGER(atom_s32, int32_t)
INTEGER(atom_u64, uint64_t)
INTEGER(atom_s64, int64_t)

static uint32_t atom_f32(uint32_t *p, uint32_t b)
{
    uint32_t old;

    LOOP(uint32_t, float_bits(bits_float(old) + bits_float(b)));
    return old;
}

static uint64_t atom_f64(uint64_t *p, uint64_t b)
{
    uint64_t old;

    LOOP(uint64_t, double_bits(bits_double(old) + bits_double(b)));
    return old;
}

static uint16_t add_small(uint16_t a, uint16_t b, bool bf16)
{
    return bf16 ? float_bf16(bf16_float(a) + bf16_float(b))
                : float_half(half_float(a) + half_float(b));
}

static uint32_t add_pair(uint32_t a, uint32_t b, bool bf16)
{
    return add_small((uint16_t)a, (uint16_t)b, bf16) |
           (uint32_t)add_small((uint16_t)(a >> 16), (uint16_t)(b >> 16), bf16) << 16;
}

static uint32_t atom_pair(uint32_t *p, uint32_t b, bool bf16)
{
    uint32_t old;

    LOOP(uint32_t, add_pair(old, b, bf16));
    return old;
}

static uint16_t atom_small(uint16_t *p, uint16_t b, bool bf16)
{
    uint16_t old;

    LOOP(uint16_t, add_small(old, b, bf16));
    return old;
}

static uint16_t cas_16(uint16_t *p, uint16_t b, uint16_t c)
{
    uint16_t old = b;

    __atomic_compare_exchange_n(p, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}

static uint32_t atom_word(const struct memory_op *m, void *p, uint32_t b, uint32_t c)
{
    enum atom_op op = m->atom;

    switch ((enum type)m->type) {
    case TY_F32:
        if (op == ATOM_ADD)
            return atom_f32(p, b);
        break;
    case TY_F16X2:
    case TY_BF16X2:
        if (op == ATOM_ADD)
            return atom_pair(p, b, m->type == TY_BF16X2);
        break;
    case TY_F16:
    case TY_BF16: return atom_small(p, (uint16_t)b, m->type == TY_BF16);
    case TY_S32: return (uint32_t)atom_s32(op, p, (int32_t)b, (int32_t)c);
    default:
        if (m->size == 2)
            return cas_16(p, (uint16_t)b, (uint16_t)c);
        break;
    }
    return atom_u32(op, p, b, c);
}

static uint64_t atom_double(const struct memory_op *m, void *p, uint64_t b, uint64_t c)
{
    if (m->type == TY_F64 && m->atom == ATOM_ADD)
        return atom_f64(p, b);
    if (m->type == TY_S64)
        return (uint64_t)atom_s64(m->atom, p, (int64_t)b, (int64_t)c);
    return atom_u64(m->atom, p, b, c);
}

bool exec_atomic(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    const char *b = ref_at(w, in->b), *c = ref_at(w, in->c);
    char *d = m->discard ? NULL : ref_at(w, m->regs[0]);
    struct address_scan s;

    w->budget -= ATOMIC_COST;
    if (!memory_resolve(w, in, m, in->a, mask, &s))
        return false;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t i = first_lane(left);
        void *at = (void *)(uintptr_t)s.address[i];

        if (m->classes[0] == CLASS_DOUBLE) {
            uint64_t old = atom_double(m, at, ((const uint64_t *)b)[i], ((const uint64_t *)c)[i]);
            if (d)
                ((uint64_t *)d)[i] = old;
        } else {
            uint32_t old = atom_word(m, at, ((const uint32_t *)b)[i], ((const uint32_t *)c)[i]);
            if (d)
                ((uint32_t *)d)[i] = old;
        }
    }
    return true;
}

void atomic_reduce(enum atom_op op, enum type type, void *at, uint64_t value)
{
    struct memory_op m = {.atom = (uint8_t)op,
                          .type = (uint8_t)type,
                          .size = (uint8_t)type_size(type)};

    if (type_size(type) == 8)
        atom_double(&m, at, value, 0);
    else
        atom_word(&m, at, (uint32_t)value, 0);
}

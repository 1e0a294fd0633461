// SPDX-License-Identifier: BSD-3-Clause
// Implements mbarrier objects: 64 bits of shared memory that count arrivals and bytes of copies.
// When both counts reach zero the phase ends, and the next phase begins with the same expected
// arrivals.
//
//  bit 63 phase
//  62..43 arrivals that each phase expects
//  42..23 pending arrivals
//  22..0  pending bytes, plus TX_BIAS
#include "sim/ptx/run/exec.h"

#include <string.h>

#include "sim/ptx/alu/alu.h"

#define COUNT_MASK 0xfffffu
#define EXPECTED_SHIFT 43
#define PENDING_SHIFT 23
#define TX_MASK 0x7fffffu
#define TX_BIAS 0x400000u

struct phase {
    bool odd;
    uint32_t expected, pending;
    int32_t bytes;
};

static struct phase mbarrier_unpack(uint64_t word)
{
    return (struct phase){
        .odd = word >> 63,
        .expected = word >> EXPECTED_SHIFT & COUNT_MASK,
        .pending = word >> PENDING_SHIFT & COUNT_MASK,
        .bytes = (int32_t)(word & TX_MASK) - (int32_t)TX_BIAS,
    };
}

static uint64_t mbarrier_pack(struct phase p)
{
    return (uint64_t)p.odd << 63 | (uint64_t)(p.expected & COUNT_MASK) << EXPECTED_SHIFT |
           (uint64_t)(p.pending & COUNT_MASK) << PENDING_SHIFT |
           (((uint32_t)p.bytes + TX_BIAS) & TX_MASK);
}

// Applies the operation. Returns false if it is invalid in the object's state.
static bool mbarrier_apply(struct phase *p, enum mbarrier_op op, uint32_t value)
{
    switch (op) {
    case MBARRIER_INIT:
        if (!value || value > COUNT_MASK)
            return false;
        *p = (struct phase){.expected = value, .pending = value};
        return true;
    case MBARRIER_INVAL: *p = (struct phase){0}; return true;
    case MBARRIER_ARRIVE_DROP:
        if (value > p->expected)
            return false;
        p->expected -= value;
        if (value > p->pending)
            return false;
        p->pending -= value;
        break;
    case MBARRIER_ARRIVE:
        if (value > p->pending)
            return false;
        p->pending -= value;
        break;
    case MBARRIER_ARRIVE_EXPECT:
        p->bytes += (int32_t)value;
        if (!p->pending)
            return false;
        p->pending--;
        break;
    case MBARRIER_EXPECT: p->bytes += (int32_t)value; return true;
    case MBARRIER_COMPLETE: p->bytes -= (int32_t)value; break;
    case MBARRIER_WAIT:
    case MBARRIER_WAIT_PARITY: return true;
    }
    if (!p->pending && !p->bytes) {
        p->odd = !p->odd;
        p->pending = p->expected;
    }
    return true;
}

static bool waited(const struct warp *w, const struct insn *in, uint32_t lane, struct phase now)
{
    const char *b = ref_at(w, in->b);

    if (in->imm == MBARRIER_WAIT_PARITY)
        return (((const uint32_t *)b)[lane] & 1) != now.odd;
    return mbarrier_unpack(((const uint64_t *)b)[lane]).odd != now.odd;
}

bool exec_mbarrier(struct warp *w, const struct insn *in, uint32_t mask)
{
    bool waits = in->imm == MBARRIER_WAIT || in->imm == MBARRIER_WAIT_PARITY;
    uint32_t done = 0;
    struct address_scan s;

    if (!memory_resolve(w, in, in->mem, in->a, mask, &s))
        return false;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = first_lane(left);
        uint64_t word;
        struct phase p;
        void *at = (void *)(uintptr_t)s.address[lane];

        memcpy(&word, at, 8);
        p = mbarrier_unpack(word);
        if (waits) {
            done |= waited(w, in, lane, p) ? 1u << lane : 0;
            continue;
        }
        if (!mbarrier_apply(&p, in->imm, ((const uint32_t *)ref_at(w, in->b))[lane]))
            return fault_raise(w, in, PTX_FAULT_ILLEGAL_INSTRUCTION, lane, 0,
                               "an mbarrier's count is exceeded");
        if (in->imm >= MBARRIER_ARRIVE && in->imm <= MBARRIER_ARRIVE_EXPECT)
            ((uint64_t *)ref_at(w, in->d))[lane] = word;
        word = mbarrier_pack(p);
        memcpy(at, &word, 8);
    }
    if (waits) {
        w->budget -= done == mask ? 0 : ATOMIC_COST;
        write_pred(w, in->d, mask, done);
    }
    return true;
}

// Returns the host address of a lane's range, checked at both ends; allocations have no holes.
static char *range_at(struct warp *w, const struct memory_op *m, uint32_t ref, uint32_t lane,
                      uint32_t size)
{
    const char *a = ref_at(w, ref);
    uint64_t address = (m->address32 ? ((const uint32_t *)a)[lane] : ((const uint64_t *)a)[lane]) +
                       (uint64_t)m->offset;
    size_t room;
    char *p;

    if (m->space == SP_SHARED) {
        struct thread_block *b = w->block;

        return address > b->shared_size || size > b->shared_size - address ? NULL
                                                                           : b->shared + address;
    }
    p = memory_at(w, lane, address, &room);
    return p && room >= size ? p : NULL;
}

bool exec_cp_bulk(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *from = in->mem, *to = from->destination;

    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = first_lane(left), size = ((const uint32_t *)ref_at(w, in->c))[lane];
        char *source = range_at(w, from, in->a, lane, size);
        char *target = range_at(w, to, in->b, lane, size);

        if (!source || !target)
            return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, 0,
                               "illegal address in a copy of %u bytes", size);
        if ((uintptr_t)source % 16 || (uintptr_t)target % 16 || size % 16)
            return fault_raise(w, in, PTX_FAULT_MISALIGNED_ADDRESS, lane, 0,
                               "a copy of %u bytes is not aligned to 16", size);
        memmove(target, source, size);
    }
    return true;
}

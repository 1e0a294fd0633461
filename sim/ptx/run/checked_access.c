// SPDX-License-Identifier: BSD-3-Clause
// Implements loads, stores and address checks. Every access is checked: shared and local memory
// against the block's sizes, other memory against the ranges that the launch's `find` returns.
#include "sim/ptx/run/exec.h"

#include <string.h>

#include "sim/ptx/alu/alu.h"

static bool find_range(struct worker *worker, uint64_t address, uint64_t *base, uint64_t *end)
{
    const struct ptx_memory *memory = &worker->grid->launch->memory;
    struct range_cache *r;

    for (unsigned i = 0; i < CACHED_RANGES; i++) {
        r = &worker->ranges[(worker->range_at + i) % CACHED_RANGES];
        if (address >= r->base && address < r->end) {
            worker->range_at = (worker->range_at + i) % CACHED_RANGES;
            *base = r->base;
            *end = r->end;
            return true;
        }
    }
    uint64_t words = worker->grid->sync_address;
    if (worker->grid->launch->cooperative && address - words < sizeof(worker->grid->sync_words)) {
        *base = words; // the engine's own memory holds the grid-wide barrier
        *end = words + sizeof(worker->grid->sync_words);
    } else if (!memory->find || !memory->find(memory->argument, address, base, end)) {
        return false;
    }
    worker->range_at = (worker->range_at + CACHED_RANGES - 1) % CACHED_RANGES;
    worker->ranges[worker->range_at] = (struct range_cache){*base, *end};
    return true;
}

static bool in_range(uint64_t address, uint64_t size, uint64_t base, uint64_t end)
{
    return address >= base && address < end && end - address >= size;
}

// Checks a generic address against the windows of shared, local and parameter memory, then global
// memory.
static bool generic_ok(struct warp *w, unsigned lane, uint64_t address, uint64_t size)
{
    struct thread_block *b = w->block;
    uint64_t base = (uintptr_t)b->shared, end;

    if (in_range(address, size, base, base + b->shared_size))
        return true;
    base = (uintptr_t)lane_local(w, lane);
    if (in_range(address, size, base, base + b->grid->lane_local))
        return true;
    base = (uintptr_t)b->grid->params;
    if (in_range(address, size, base, base + b->grid->function->info.param_bytes))
        return true;
    return find_range(b->worker, address, &base, &end) && in_range(address, size, base, end);
}

// Wraps negative offsets of 32-bit addresses as the addresses wrap.
static void wrap_32(struct address_scan *s)
{
    s->low = UINT64_MAX;
    s->high = s->any = 0;
    for (int i = 0; i < LANES; i++) {
        s->address[i] &= UINT32_MAX;
        s->low = s->address[i] < s->low ? s->address[i] : s->low;
        s->high = s->address[i] > s->high ? s->address[i] : s->high;
        s->any |= s->address[i];
    }
}

// Computes the addresses of the lanes in the mask; other lanes get the address of an active lane.
static void scan_addresses(const struct warp *w, const struct memory_op *m, uint32_t ref,
                           uint32_t mask, struct address_scan *s)
{
    static const uint64_t no_offset;
    uint32_t bytes = (uint32_t)m->size * m->count;
    const char *a = ref_at(w, ref);

    if (m->frame_relative) {
        uint64_t at = w->frame->local_base + (uint64_t)m->offset;

        for (int i = 0; i < LANES; i++)
            s->address[i] = at;
        s->low = s->high = s->any = at;
        s->gaps = 1;
        s->spread = 0;
        return;
    }
    (m->address32 ? m->scan32 : m->scan64)(s, a, NULL, &m->offset, bytes);
    if (m->address32 && m->offset < 0)
        wrap_32(s);
    if (mask == ALL_LANES)
        return;
    uint64_t filled[LANES], fill = s->address[first_lane(mask)];
    for (int i = 0; i < LANES; i++)
        filled[i] = mask >> i & 1 ? s->address[i] : fill;
    m->scan64(s, filled, NULL, &no_offset, bytes);
}

static bool misaligned(struct warp *w, const struct insn *in, const struct memory_op *m,
                       const uint64_t a[LANES], uint32_t mask, uint64_t bytes)
{
    for (unsigned i = 0; i < LANES; i++)
        if (mask >> i & 1 && a[i] & (bytes - 1))
            return fault_raise(w, in, PTX_FAULT_MISALIGNED_ADDRESS, i, a[i],
                               "misaligned address 0x%llx in %s", (unsigned long long)a[i],
                               m->text);
    return true;
}

static bool illegal(struct warp *w, const struct insn *in, const struct memory_op *m, unsigned lane,
                    uint64_t address)
{
    static const char *const spaces[] = {"",        "global ", "const ",
                                         "shared ", "local ",  "parameter "};

    return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, address,
                       "illegal %saddress 0x%llx in %s", spaces[m->space],
                       (unsigned long long)address, m->text);
}

// Converts offsets in a state space of `limit` bytes to host addresses.
static bool check_offsets(struct warp *w, const struct insn *in, const struct memory_op *m,
                          struct address_scan *s, uint32_t mask, uint64_t bytes, uint64_t limit,
                          const char *base)
{
    if (bytes > limit || s->high > limit - bytes)
        for (unsigned i = 0; i < LANES; i++)
            if (mask >> i & 1 && (bytes > limit || s->address[i] > limit - bytes))
                return illegal(w, in, m, i, s->address[i]);
    for (int i = 0; i < LANES; i++)
        s->address[i] += (uintptr_t)base;
    return true;
}

static bool check_global(struct warp *w, const struct insn *in, const struct memory_op *m,
                         const struct address_scan *s, uint32_t mask, uint64_t bytes)
{
    const uint64_t *a = s->address;
    uint64_t base, end;
    bool good = false;

    if (m->space == SP_GENERIC) {
        base = (uintptr_t)w->block->shared;
        end = base + w->block->shared_size;
        good = in_range(s->low, bytes, base, end) && in_range(s->high, bytes, base, end);
    }
    if (!good)
        good = find_range(w->block->worker, s->low, &base, &end) &&
               in_range(s->high, bytes, base, end) && in_range(s->low, bytes, base, end);
    for (unsigned i = 0; !good && i < LANES; i++) {
        if (!(mask >> i & 1))
            continue;
        if (m->space == SP_GENERIC ? !generic_ok(w, i, a[i], bytes)
                                   : !find_range(w->block->worker, a[i], &base, &end) ||
                                         !in_range(a[i], bytes, base, end))
            return illegal(w, in, m, i, a[i]);
    }
    return true;
}

bool memory_resolve(struct warp *w, const struct insn *in, const struct memory_op *m, uint32_t ref,
                    uint32_t mask, struct address_scan *s)
{
    uint64_t bytes = (uint64_t)m->size * m->count;
    struct thread_block *b = w->block;

    scan_addresses(w, m, ref, mask, s);
    if (s->any & (bytes - 1) && !misaligned(w, in, m, s->address, mask, bytes))
        return false;
    switch ((enum space)m->space) {
    case SP_SHARED: return check_offsets(w, in, m, s, mask, bytes, b->shared_size, b->shared);
    case SP_PARAM:
        return check_offsets(w, in, m, s, mask, bytes, b->grid->function->info.param_bytes,
                             b->grid->params);
    case SP_LOCAL:
        if (!check_offsets(w, in, m, s, mask, bytes, b->grid->lane_local, lane_local(w, 0)))
            return false;
        for (unsigned i = 0; i < LANES; i++)
            s->address[i] += i * b->grid->lane_local;
        s->gaps = s->spread = 1;
        return true;
    case SP_GENERIC:
    case SP_GLOBAL:
    case SP_CONST: break;
    }
    return check_global(w, in, m, s, mask, bytes);
}

char *memory_at(struct warp *w, unsigned lane, uint64_t address, size_t *size)
{
    struct thread_block *b = w->block;
    uint64_t base = (uintptr_t)b->shared, end = base + b->shared_size;

    if (!in_range(address, 1, base, end)) {
        base = (uintptr_t)lane_local(w, lane);
        end = base + b->grid->lane_local;
        if (!in_range(address, 1, base, end) &&
            !(find_range(b->worker, address, &base, &end) && in_range(address, 1, base, end)))
            return NULL;
    }
    *size = end - address;
    return (char *)(uintptr_t)address;
}

#define FOR_LANES(mask) \
    for (uint32_t left_ = (mask), i; left_ && (i = first_lane(left_), true); left_ &= left_ - 1)

#define AT(T, a) ((T *)(uintptr_t)(a))

#define LOAD(SLOT, T) \
    do { \
        SLOT *d_ = (SLOT *)d; \
        if (s->spread == 0 && mask == ALL_LANES) { \
            SLOT all_ = (SLOT)__atomic_load_n(AT(const T, s->address[0] + at), __ATOMIC_RELAXED); \
            for (int i = 0; i < LANES; i++) \
                d_[i] = all_; \
        } else if (mask == ALL_LANES) { \
            for (int i = 0; i < LANES; i++) \
                d_[i] = (SLOT)__atomic_load_n(AT(const T, s->address[i] + at), __ATOMIC_RELAXED); \
        } else { \
            FOR_LANES(mask) \
            d_[i] = (SLOT)__atomic_load_n(AT(const T, s->address[i] + at), __ATOMIC_RELAXED); \
        } \
    } while (0)

static void load_word(char *d, const struct address_scan *s, uint32_t mask, unsigned size,
                      unsigned at, bool sign)
{
    if (size == 4)
        LOAD(uint32_t, uint32_t);
    else if (size == 2 && sign)
        LOAD(uint32_t, int16_t);
    else if (size == 2)
        LOAD(uint32_t, uint16_t);
    else if (sign)
        LOAD(uint32_t, int8_t);
    else
        LOAD(uint32_t, uint8_t);
}

static void load_double(char *d, const struct address_scan *s, uint32_t mask, unsigned size,
                        unsigned at, bool sign)
{
    if (size == 8)
        LOAD(uint64_t, uint64_t);
    else if (size == 4 && sign)
        LOAD(uint64_t, int32_t);
    else if (size == 4)
        LOAD(uint64_t, uint32_t);
    else if (size == 2 && sign)
        LOAD(uint64_t, int16_t);
    else if (size == 2)
        LOAD(uint64_t, uint16_t);
    else if (sign)
        LOAD(uint64_t, int8_t);
    else
        LOAD(uint64_t, uint8_t);
}

// Loads an entry's parameter, which is the same for all lanes.
static bool load_param(struct warp *w, const struct memory_op *m, uint32_t ref,
                       struct address_scan *s)
{
    uint64_t address = *(const uint64_t *)ref_at(w, ref) + (uint64_t)m->offset;
    uint64_t bytes = (uint64_t)m->size * m->count;
    uint64_t limit = w->block->grid->function->info.param_bytes;

    if (REF_BASE(ref) != REF_CONST || bytes > limit || address > limit - bytes ||
        address & (bytes - 1) || m->address32)
        return false;
    for (int i = 0; i < LANES; i++)
        s->address[i] = (uintptr_t)w->block->grid->params + address;
    s->gaps = 1;
    s->spread = 0;
    return true;
}

// Returns true if all lanes access consecutive elements as wide as the register.
static bool checked_access_is_plain(const struct memory_op *m, const struct address_scan *s,
                                    uint32_t mask)
{
    return !s->gaps && mask == ALL_LANES && m->count == 1 && !m->ordered &&
           m->size == (m->classes[0] == CLASS_DOUBLE ? 8 : 4);
}

bool exec_load(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    struct address_scan s;

    if (m->ordered)
        w->budget -= ORDERED_COST;
    if (!(m->space == SP_PARAM && load_param(w, m, in->a, &s)) &&
        !memory_resolve(w, in, m, in->a, mask, &s))
        return false;
    if (mask == w->frame->lanes && s.gaps)
        // inactive lanes have valid addresses, and no other frame uses their registers
        mask = ALL_LANES;
    if (checked_access_is_plain(m, &s, mask)) {
        memcpy(ref_at(w, m->regs[0]), AT(char, s.address[0]), (size_t)m->size * LANES);
        return true;
    }
    for (unsigned k = 0; k < m->count; k++) {
        char *d = ref_at(w, m->regs[k]);

        if (m->classes[k] == CLASS_DOUBLE)
            load_double(d, &s, mask, m->size, k * m->size, m->sign_extend);
        else
            load_word(d, &s, mask, m->size, k * m->size, m->sign_extend);
    }
    if (m->ordered)
        atomic_thread_fence(memory_order_acquire);
    return true;
}

#define STORE(SLOT, T) \
    do { \
        const SLOT *v_ = (const SLOT *)v; \
        if (mask == ALL_LANES) \
            for (int i = 0; i < LANES; i++) \
                __atomic_store_n(AT(T, s->address[i] + at), (T)v_[i], __ATOMIC_RELAXED); \
        else \
            FOR_LANES(mask) \
        __atomic_store_n(AT(T, s->address[i] + at), (T)v_[i], __ATOMIC_RELAXED); \
    } while (0)

static void store_element(const char *v, const struct address_scan *s, uint32_t mask, unsigned size,
                          unsigned at)
{
    if (size == 4)
        STORE(uint32_t, uint32_t);
    else if (size == 8)
        STORE(uint64_t, uint64_t);
    else if (size == 2)
        STORE(uint32_t, uint16_t);
    else
        STORE(uint32_t, uint8_t);
}

bool exec_store(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    struct address_scan s;

    if (!memory_resolve(w, in, m, in->a, mask, &s))
        return false;
    if (m->ordered)
        atomic_thread_fence(memory_order_release);
    if (checked_access_is_plain(m, &s, mask)) {
        memcpy(AT(char, s.address[0]), ref_at(w, m->regs[0]), (size_t)m->size * LANES);
        return true;
    }
    for (unsigned k = 0; k < m->count; k++)
        store_element(ref_at(w, m->regs[k]), &s, mask, m->size, k * m->size);
    return true;
}

bool exec_cp_async(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    const uint32_t *sizes = (const uint32_t *)ref_at(w, in->c);
    struct address_scan from, to;
    uint32_t reading = mask;

    if (m->zero_fill)
        FOR_LANES(mask)
    if (!sizes[i])
        reading &= ~(1u << i);
    if (reading && !memory_resolve(w, in, m, in->a, reading, &from))
        return false;
    if (!memory_resolve(w, in, m->destination, in->b, mask, &to))
        return false;
    FOR_LANES(mask)
    {
        uint32_t n = m->zero_fill && sizes[i] < m->size ? sizes[i] : m->size;

        if (n)
            memcpy(AT(char, to.address[i]), AT(char, from.address[i]), n);
        memset(AT(char, to.address[i]) + n, 0, m->size - n);
    }
    return true;
}

void exec_isspacep(struct warp *w, const struct insn *in, uint32_t mask)
{
    const uint64_t *a = (const uint64_t *)ref_at(w, in->a);
    struct thread_block *b = w->block;
    uint32_t result = 0;

    FOR_LANES(mask)
    {
        uint64_t shared = (uintptr_t)b->shared, local = (uintptr_t)lane_local(w, i),
                 param = (uintptr_t)b->grid->params;
        bool is_shared = in_range(a[i], 1, shared, shared + b->shared_size);
        bool is_local = in_range(a[i], 1, local, local + b->grid->lane_local);
        bool is_param = in_range(a[i], 1, param, param + b->grid->function->info.param_bytes);
        bool yes = !is_shared && !is_local && !is_param;

        if (in->imm == SP_SHARED)
            yes = is_shared;
        else if (in->imm == SP_LOCAL)
            yes = is_local;
        else if (in->imm == SP_PARAM)
            yes = is_param;
        result |= yes ? 1u << i : 0;
    }
    write_pred(w, in->d, mask, result);
}

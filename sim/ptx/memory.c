/*
 * Loads, stores and address checks. Every access is checked: shared and local memory against the
 * block's sizes, everything else against the ranges that the launch's `find` gives.
 */
#include "sim/ptx/exec.h"

#include <string.h>

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
        *base = words; /* the grid-wide barrier lies in memory of the engine's own */
        *end = words + sizeof(worker->grid->sync_words);
    } else if (!memory->find || !memory->find(memory->opaque, address, base, end)) {
        return false;
    }
    worker->range_at = (worker->range_at + CACHED_RANGES - 1) % CACHED_RANGES;
    worker->ranges[worker->range_at] = (struct range_cache){ *base, *end };
    return true;
}

static bool in_range(uint64_t address, uint64_t size, uint64_t base, uint64_t end)
{
    return address >= base && address < end && end - address >= size;
}

/* Generic addresses: the windows of shared, local and parameter memory, else global. */
static bool generic_ok(struct warp *w, unsigned lane, uint64_t address, uint64_t size)
{
    struct block *b = w->block;
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

static void raw_addresses(struct warp *w, const struct memory_op *m, uint32_t ref,
                          uint64_t out[LANES])
{
    const char *a = ref_at(w, ref);

    if (m->address32)
        for (int i = 0; i < LANES; i++)
            out[i] = (uint64_t)((const uint32_t *)a)[i] + (uint64_t)m->offset;
    else
        for (int i = 0; i < LANES; i++)
            out[i] = ((const uint64_t *)a)[i] + (uint64_t)m->offset;
    if (m->address32 && m->offset < 0)
        for (int i = 0; i < LANES; i++)
            out[i] &= UINT32_MAX;
}

/* Lanes that take no part get the address of one that does. */
static void spread(uint64_t a[LANES], uint32_t mask)
{
    uint64_t fill = a[first_lane(mask)];

    if (mask != ALL_LANES)
        for (int i = 0; i < LANES; i++)
            a[i] = mask >> i & 1 ? a[i] : fill;
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

static bool illegal(struct warp *w, const struct insn *in, const struct memory_op *m,
                    unsigned lane, uint64_t address)
{
    static const char *const spaces[] = { "", "global ", "const ", "shared ", "local ",
                                          "parameter " };

    return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, address,
                       "illegal %saddress 0x%llx in %s", spaces[m->space],
                       (unsigned long long)address, m->text);
}

static bool check_offsets(struct warp *w, const struct insn *in, const struct memory_op *m,
                          uint64_t a[LANES], uint32_t mask, uint64_t bytes, uint64_t limit,
                          char *base, char *out[LANES])
{
    uint64_t high = 0;

    for (int i = 0; i < LANES; i++)
        high = a[i] > high ? a[i] : high;
    if (bytes > limit || high > limit - bytes)
        for (unsigned i = 0; i < LANES; i++)
            if (mask >> i & 1 && (bytes > limit || a[i] > limit - bytes))
                return illegal(w, in, m, i, a[i]);
    for (int i = 0; i < LANES; i++)
        out[i] = base + a[i];
    return true;
}

static bool check_global(struct warp *w, const struct insn *in, const struct memory_op *m,
                         uint64_t a[LANES], uint32_t mask, uint64_t bytes, char *out[LANES])
{
    uint64_t low = UINT64_MAX, high = 0, base, end;

    for (int i = 0; i < LANES; i++) {
        low = a[i] < low ? a[i] : low;
        high = a[i] > high ? a[i] : high;
    }
    if (m->space == SP_GENERIC) {
        base = (uintptr_t)w->block->shared;
        end = base + w->block->shared_size;
    } else {
        base = end = 0;
    }
    bool good = in_range(low, bytes, base, end) && in_range(high, bytes, base, end);
    if (!good)
        good = find_range(w->block->worker, low, &base, &end) &&
               in_range(high, bytes, base, end) && in_range(low, bytes, base, end);
    for (unsigned i = 0; !good && i < LANES; i++) {
        if (!(mask >> i & 1))
            continue;
        if (m->space == SP_GENERIC ? !generic_ok(w, i, a[i], bytes)
                                   : !find_range(w->block->worker, a[i], &base, &end) ||
                                         !in_range(a[i], bytes, base, end))
            return illegal(w, in, m, i, a[i]);
    }
    for (int i = 0; i < LANES; i++)
        out[i] = (char *)(uintptr_t)a[i];
    return true;
}

bool memory_resolve(struct warp *w, const struct insn *in, const struct memory_op *m, uint32_t ref,
                    uint32_t mask, char *out[LANES])
{
    uint64_t a[LANES], bytes = (uint64_t)m->size * m->count, any = 0;
    struct block *b = w->block;

    if (m->frame_relative) {
        for (int i = 0; i < LANES; i++)
            a[i] = w->frame->local_base + (uint64_t)m->offset;
    } else {
        raw_addresses(w, m, ref, a);
        spread(a, mask);
    }
    for (int i = 0; i < LANES; i++)
        any |= a[i];
    if (any & (bytes - 1) && !misaligned(w, in, m, a, mask, bytes))
        return false;
    switch ((enum space)m->space) {
    case SP_SHARED:
        return check_offsets(w, in, m, a, mask, bytes, b->shared_size, b->shared, out);
    case SP_PARAM:
        return check_offsets(w, in, m, a, mask, bytes, b->grid->function->info.param_bytes,
                             (char *)(uintptr_t)b->grid->params, out);
    case SP_LOCAL:
        if (!check_offsets(w, in, m, a, mask, bytes, b->grid->lane_local, lane_local(w, 0), out))
            return false;
        for (unsigned i = 0; i < LANES; i++)
            out[i] += i * b->grid->lane_local;
        return true;
    case SP_GENERIC:
    case SP_GLOBAL:
    case SP_CONST:
        break;
    }
    return check_global(w, in, m, a, mask, bytes, out);
}

char *memory_at(struct warp *w, unsigned lane, uint64_t address, size_t *size)
{
    struct block *b = w->block;
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

#define LOAD(SLOT, T) \
    do { \
        SLOT *d_ = (SLOT *)d; \
        if (mask == ALL_LANES) \
            for (int i = 0; i < LANES; i++) \
                d_[i] = (SLOT)__atomic_load_n((const T *)(a[i] + at), __ATOMIC_RELAXED); \
        else \
            FOR_LANES(mask) \
                d_[i] = (SLOT)__atomic_load_n((const T *)(a[i] + at), __ATOMIC_RELAXED); \
    } while (0)

static void load_word(char *d, char *const a[LANES], uint32_t mask, unsigned size, unsigned at,
                      bool sign)
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

static void load_double(char *d, char *const a[LANES], uint32_t mask, unsigned size, unsigned at,
                        bool sign)
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

/* Parameters of an entry are the same for all lanes. */
static bool load_param(struct warp *w, const struct memory_op *m, uint32_t ref, char *out[LANES])
{
    uint64_t address = *(const uint64_t *)ref_at(w, ref) + (uint64_t)m->offset;
    uint64_t bytes = (uint64_t)m->size * m->count;
    uint64_t limit = w->block->grid->function->info.param_bytes;

    if (REF_BASE(ref) != REF_CONST || bytes > limit || address > limit - bytes ||
        address & (bytes - 1) || m->address32)
        return false;
    for (int i = 0; i < LANES; i++)
        out[i] = (char *)(uintptr_t)w->block->grid->params + address;
    return true;
}

bool exec_load(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    char *a[LANES];

    if (m->ordered)
        w->budget -= ORDERED_COST;
    if (!(m->space == SP_PARAM && load_param(w, m, in->a, a)) &&
        !memory_resolve(w, in, m, in->a, mask, a))
        return false;
    if (mask == w->frame->lanes)
        mask = ALL_LANES; /* the others have a good address as well, and nobody's register */
    for (unsigned k = 0; k < m->count; k++) {
        char *d = ref_at(w, m->regs[k]);

        if (m->classes[k] == CLASS_DOUBLE)
            load_double(d, a, mask, m->size, k * m->size, m->sign_extend);
        else
            load_word(d, a, mask, m->size, k * m->size, m->sign_extend);
    }
    if (m->ordered)
        atomic_thread_fence(memory_order_acquire);
    return true;
}

#define STORE(SLOT, T) \
    do { \
        const SLOT *s_ = (const SLOT *)s; \
        if (mask == ALL_LANES) \
            for (int i = 0; i < LANES; i++) \
                __atomic_store_n((T *)(a[i] + at), (T)s_[i], __ATOMIC_RELAXED); \
        else \
            FOR_LANES(mask) \
                __atomic_store_n((T *)(a[i] + at), (T)s_[i], __ATOMIC_RELAXED); \
    } while (0)

static void store_element(const char *s, char *const a[LANES], uint32_t mask, unsigned size,
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
    char *a[LANES];

    if (!memory_resolve(w, in, m, in->a, mask, a))
        return false;
    if (m->ordered)
        atomic_thread_fence(memory_order_release);
    for (unsigned k = 0; k < m->count; k++)
        store_element(ref_at(w, m->regs[k]), a, mask, m->size, k * m->size);
    return true;
}

bool exec_cp_async(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct memory_op *m = in->mem;
    const uint32_t *sizes = (const uint32_t *)ref_at(w, in->c);
    char *from[LANES], *to[LANES];
    uint32_t reading = mask;

    if (m->zero_fill)
        FOR_LANES(mask)
            if (!sizes[i])
                reading &= ~(1u << i);
    if (reading && !memory_resolve(w, in, m, in->a, reading, from))
        return false;
    if (!memory_resolve(w, in, m->destination, in->b, mask, to))
        return false;
    FOR_LANES(mask) {
        uint32_t n = m->zero_fill && sizes[i] < m->size ? sizes[i] : m->size;

        if (n)
            memcpy(to[i], from[i], n);
        memset(to[i] + n, 0, m->size - n);
    }
    return true;
}

void exec_isspacep(struct warp *w, const struct insn *in, uint32_t mask)
{
    const uint64_t *a = (const uint64_t *)ref_at(w, in->a);
    struct block *b = w->block;
    uint32_t result = 0;

    FOR_LANES(mask) {
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

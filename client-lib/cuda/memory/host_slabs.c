// SPDX-License-Identifier: BSD-3-Clause
// A context's first slab is small, and each further one has twice the size of the one before, up to
// 16 MiB: the box maps one large block in much less time than many small ones. One small slab
// without pieces stays, and larger ones are kept for a while (kept_memory.h), so that programs that
// allocate and free in a loop make no request. A freed piece is used again when the work that may
// use it is done. While streams are captured nothing can be waited for, so pieces rest until then.
#include "client-lib/cuda/memory/host_slabs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client-lib/cuda/memory/page_locked.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { PAGE = 4096, PIECE_MAX = 256, PAGES_FIRST = 64, PAGES_STAY = 512, PAGES_MAX = 4096 };
enum page_state { PAGE_FREE, PAGE_TAKEN, PAGE_RESTS };

struct host_slab {
    struct allocation block;
    size_t count, used, resting; // pages
    uint64_t rests_until; // mark (known_idle.h) of the work after which resting pieces are free
    size_t next;          // first page of the search for the next piece
    uint64_t wire;        // the context's handle on the wire
    struct host_slab *following;
    uint8_t pages[]; // enum page_state
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_slab *slabs;

static bool is_small(const struct allocation *wanted)
{
    return wanted->size <= (uint64_t)PIECE_MAX * PAGE;
}

// Returns true if the slab's context is gone, and with it the box's part of the slab.
static bool is_orphan(const struct host_slab *slab)
{
    return context_wire(slab->block.context) != slab->wire;
}

// Returns the first of COUNT free pages in [FIRST, END); the slab's page count if there are none.
static size_t find_pages(const struct host_slab *slab, size_t first, size_t end, size_t count)
{
    size_t length = 0;
    for (size_t at = first; at < end; at++) {
        length = slab->pages[at] == PAGE_FREE ? length + 1 : 0;
        if (length == count)
            return at + 1 - count;
    }
    return slab->count;
}

static bool take_pages(struct host_slab *slab, size_t count, size_t *first)
{
    if (slab->used + count > slab->count)
        return false;
    *first = find_pages(slab, slab->next, slab->count, count);
    if (*first == slab->count)
        *first = find_pages(slab, 0, slab->count, count);
    if (*first == slab->count)
        return false;
    memset(slab->pages + *first, PAGE_TAKEN, count);
    slab->used += count;
    slab->next = *first + count;
    return true;
}

static bool take_of(struct host_slab *slab, struct allocation *wanted)
{
    size_t first;
    if (slab->block.context != wanted->context || is_orphan(slab) ||
        !take_pages(slab, wanted->size / PAGE, &first))
        return false;
    struct allocation piece = slab->block;
    piece.slab = slab;
    piece.base += first * PAGE;
    piece.size = wanted->size;
    piece.host_flags = wanted->host_flags;
    piece.region_offset = (uint32_t)(first * PAGE);
    piece.device_address += piece.device_address ? first * PAGE : 0;
    *wanted = piece;
    return true;
}

static bool host_slabs_take_of_any(struct allocation *wanted)
{
    struct host_slab *slab = slabs;
    while (slab && !take_of(slab, wanted))
        slab = slab->following;
    return slab != NULL;
}

static size_t next_count(const struct allocation *wanted)
{
    size_t count = wanted->size / PAGE > PAGES_FIRST ? wanted->size / PAGE : PAGES_FIRST;
    for (const struct host_slab *slab = slabs; slab; slab = slab->following)
        if (slab->block.context == wanted->context && 2 * slab->count > count)
            count = 2 * slab->count;
    return count < PAGES_MAX ? count : PAGES_MAX;
}

// Frees slabs whose context is gone, if all their pieces rest. The caller holds the lock.
static void drop_orphans(void)
{
    for (struct host_slab **at = &slabs; *at;) {
        struct host_slab *slab = *at;
        if (slab->used > slab->resting || !is_orphan(slab)) {
            at = &slab->following;
            continue;
        }
        *at = slab->following;
        (void)page_locked_unmake(&slab->block);
        free(slab);
    }
}

static CUresult host_slabs_make_slab(const struct allocation *wanted)
{
    drop_orphans();
    size_t count = next_count(wanted);
    struct host_slab *slab = calloc(1, sizeof(*slab) + count);
    if (!slab)
        return CUDA_ERROR_OUT_OF_MEMORY;
    slab->block = *wanted;
    slab->block.size = count * PAGE;
    slab->count = count;
    slab->wire = context_wire(wanted->context);
    CUresult result = kept_take(&slab->block, NULL) ? CUDA_SUCCESS : page_locked_make(&slab->block);
    if (result != CUDA_SUCCESS) {
        free(slab);
        return result;
    }
    slab->following = slabs;
    slabs = slab;
    return CUDA_SUCCESS;
}

static CUresult host_slabs_take_piece(struct allocation *wanted)
{
    SCOPED_LOCK(&lock);
    if (host_slabs_take_of_any(wanted))
        return CUDA_SUCCESS;
    CUresult result = host_slabs_make_slab(wanted);
    if (result == CUDA_SUCCESS && !host_slabs_take_of_any(wanted))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

// ---- freeing pieces ----

static void host_slabs_await_context(void *argument, struct object *context)
{
    const struct box_session *session = argument;
    if (context->session != session || context->ctx.green || !context->ctx.wire ||
        thread_push_context((CUcontext)(uintptr_t)context->handle) != CUDA_SUCCESS)
        return;
    (void)remote_cuCtxSynchronize();
    thread_pop_context(NULL);
}

// Waits for all work up to MARK that may use the piece. False: streams are captured, so this cannot
// wait.
static bool host_slabs_await_work(const struct allocation *piece, uint64_t mark, CUresult *result)
{
    struct box_session *session = piece->session;
    bool entered;
    if (idle_is_known(session))
        return true;
    if (captures_any())
        return false;
    *result = memory_enter(piece, &entered);
    if (*result == CUDA_SUCCESS)
        *result = remote_cuCtxSynchronize();
    if (*result == CUDA_SUCCESS)
        idle_note_context(session, mark);
    memory_leave(entered);
    if (atomic_load_explicit(&session->work.several, memory_order_relaxed))
        object_each(HANDLE_CONTEXT, host_slabs_await_context, session);
    return true;
}

// Frees resting pieces after all work up to MARK is done. The caller holds the lock.
static void wake(const struct box_session *session, uint64_t mark)
{
    for (struct host_slab *slab = slabs; slab; slab = slab->following) {
        if (!slab->resting || slab->block.session != session || slab->rests_until > mark)
            continue;
        for (size_t at = 0; at < slab->count; at++)
            if (slab->pages[at] == PAGE_RESTS)
                slab->pages[at] = PAGE_FREE;
        slab->used -= slab->resting;
        slab->resting = 0;
    }
}

static bool host_slabs_is_kept(const struct host_slab *empty)
{
    for (const struct host_slab *slab = slabs; slab; slab = slab->following)
        if (slab != empty && !slab->used && slab->block.context == empty->block.context)
            return false;
    return empty->count <= PAGES_STAY && !is_orphan(empty);
}

// The caller holds the lock.
static struct host_slab *unlink_slab(struct host_slab *slab)
{
    struct host_slab **at = &slabs;
    while (*at != slab)
        at = &(*at)->following;
    *at = slab->following;
    return slab;
}

// Returns a piece to its slab. The caller holds the lock. OVER: all work up to MARK is done.
// Returns the slab if the caller must free it.
static struct host_slab *host_slabs_put_back(const struct allocation *piece, bool over,
                                             uint64_t mark)
{
    struct host_slab *slab = piece->slab;
    size_t count = piece->size / PAGE;
    bool rests = !over && !is_orphan(slab);
    memset(slab->pages + piece->region_offset / PAGE, rests ? PAGE_RESTS : PAGE_FREE, count);
    if (rests) {
        slab->resting += count;
        slab->rests_until = mark;
    } else {
        slab->used -= count;
    }
    if (over)
        wake(piece->session, mark);
    return slab->used || host_slabs_is_kept(slab) ? NULL : unlink_slab(slab);
}

static CUresult give_piece(const struct allocation *piece)
{
    struct host_slab *gone;
    uint64_t mark = idle_mark(piece->session);
    CUresult result = CUDA_SUCCESS;
    bool over = !is_orphan(piece->slab) && host_slabs_await_work(piece, mark, &result);
    {
        SCOPED_LOCK(&lock);
        gone = host_slabs_put_back(piece, over, mark);
    }
    if (gone && !kept_give(&gone->block, NULL))
        (void)page_locked_unmake(&gone->block);
    free(gone);
    return result;
}

// ---- calls of programs ----

static CUresult free_whole(const struct allocation *allocation)
{
    uint64_t mark = idle_mark(allocation->session);
    CUresult result = CUDA_SUCCESS;
    bool over = kept_suits(allocation) && host_slabs_await_work(allocation, mark, &result);
    over = over && result == CUDA_SUCCESS && idle_is_known(allocation->session);
    return over && kept_give(allocation, NULL) ? CUDA_SUCCESS : page_locked_unmake(allocation);
}

static CUresult free_made(const struct allocation *allocation)
{
    return allocation->slab ? give_piece(allocation) : free_whole(allocation);
}

static CUresult make_whole(struct allocation *allocation)
{
    CUresult result;
    if (kept_take(allocation, NULL))
        return CUDA_SUCCESS;
    do
        result = page_locked_make(allocation);
    while (kept_make_room(result));
    return result;
}

CUresult host_memory_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory)
{
    struct allocation allocation = {.size = page_locked_round(bytes),
                                    .host = true,
                                    .host_flags = flags,
                                    .session = context->session,
                                    .context = context->ctx.root,
                                    .device = context->ctx.device};
    if (allocation.size < bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = is_small(&allocation) ? host_slabs_take_piece(&allocation)
                                            : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        result = make_whole(&allocation);
    if (result != CUDA_SUCCESS)
        return result;
    if (memory_add(&allocation) == 0) {
        *memory = (void *)(uintptr_t)allocation.base;
        return CUDA_SUCCESS;
    }
    (void)free_made(&allocation);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult host_memory_free(void *memory)
{
    struct allocation gone;
    if (!memory_find((uintptr_t)memory, &gone) || !gone.host || gone.registered ||
        gone.base != (uintptr_t)memory || !memory_remove(gone.base, &gone))
        return CUDA_ERROR_INVALID_VALUE;
    return free_made(&gone);
}

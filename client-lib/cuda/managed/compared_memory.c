// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/compared_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "client-lib/cuda/managed/host_changes.h"
#include "client-lib/cuda/managed/settled_changes.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/report/tell.h"
#include "common/base/byte_changes.h"
#include "common/base/scope.h"

// Memory that host and running kernels exchange words in: the size of one, how many, and how often
// the box is asked at once while a kernel goes on writing.
enum { POLLED_MAX = WIRE_INLINE_MAX, POLLED_COUNT = 32, ROUNDS = 4 };

struct compared {
    struct allocation memory;
    uint8_t *known;     // the bytes that the box has
    atomic_bool worked; // work was sent since this was added
    uint64_t settled;   // work that was complete when this was last fetched and equal; `fetching`
    struct compared *next;
};

// A thread that fetches holds the first mutex all the time, so that nothing is removed meanwhile,
// and the second one while it changes `known`, so that threads that send need not wait for answers.
static pthread_mutex_t fetching = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static struct compared *list; // new memory is put first
static _Atomic unsigned int list_count;

static bool is_polled(const struct compared *one)
{
    return one->memory.size <= POLLED_MAX;
}

static void compared_memory_drop(struct compared **at)
{
    struct compared *gone = *at;
    *at = gone->next;
    atomic_fetch_sub(&list_count, 1);
    munmap(gone->known, gone->memory.size);
    free(gone);
}

CUresult compared_add(const struct allocation *memory)
{
    struct compared *made = calloc(1, sizeof(*made));
    void *known = mmap(NULL, memory->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || known == MAP_FAILED) {
        if (known != MAP_FAILED)
            munmap(known, memory->size);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->memory = *memory;
    made->known = known;
    SCOPED_LOCK(&lock);
    made->next = list;
    list = made;
    atomic_fetch_add(&list_count, 1);
    return CUDA_SUCCESS;
}

uint32_t compared_remove(uint64_t base)
{
    SCOPED_LOCK(&fetching);
    SCOPED_LOCK(&lock);
    for (struct compared **at = &list; *at; at = &(*at)->next) {
        if ((*at)->memory.base == base) {
            uint32_t region = (*at)->memory.region;
            compared_memory_drop(at);
            return region;
        }
    }
    return 0;
}

bool compared_any_in(uint64_t context)
{
    SCOPED_LOCK(&lock);
    const struct compared *one = list;
    while (one && one->memory.context != context)
        one = one->next;
    return one != NULL;
}

void compared_context_gone(uint64_t context)
{
    SCOPED_LOCK(&fetching);
    SCOPED_LOCK(&lock);
    for (struct compared **at = &list; *at;) {
        if ((*at)->memory.context == context)
            compared_memory_drop(at);
        else
            at = &(*at)->next;
    }
}

static struct host_part compared_memory_part_of(const struct compared *one)
{
    return (struct host_part){one->memory.session, one->memory.region, one->memory.region_offset};
}

static CUresult send_one(struct compared *one, bool *changed)
{
    const struct host_part part = compared_memory_part_of(one);
    return host_changes_send(&part, (const uint8_t *)(uintptr_t)one->memory.base, one->known,
                             one->memory.size, changed);
}

CUresult compared_send(struct box_session *session, bool work)
{
    CUresult result = CUDA_SUCCESS;
    if (!atomic_load_explicit(&list_count, memory_order_relaxed))
        return CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    for (struct compared *one = list; one; one = one->next) {
        if (one->memory.session != session)
            continue;
        CUresult sent = send_one(one, NULL);
        result = result == CUDA_SUCCESS ? sent : result;
        if (work)
            atomic_store(&one->worked, true);
    }
    return result;
}

// The caller holds `fetching`.
static struct compared *first_of_list(void)
{
    SCOPED_LOCK(&lock);
    return list;
}

static bool is_written_by_gpu(const struct compared *one)
{
    return atomic_load(&one->worked) &&
           !(one->memory.registered && (one->memory.host_flags & CU_MEMHOSTREGISTER_READ_ONLY));
}

static struct host_fetch compared_memory_fetch_of(const struct compared *one)
{
    return (struct host_fetch){.part = compared_memory_part_of(one),
                               .memory = (uint8_t *)(uintptr_t)one->memory.base,
                               .known = one->known,
                               .size = one->memory.size};
}

// Fetches the next memory of SESSION, from *AT on, that the GPU may have written. WORK: number of
// the latest request of work, if all of it is known to be complete, else 0.
static CUresult fetch_some(const struct box_session *session, struct compared **at, uint64_t work)
{
    struct host_fetch wanted[WIRE_MIRROR_PARTS_MAX];
    struct compared *rows[WIRE_MIRROR_PARTS_MAX];
    unsigned int count = 0;
    for (; *at && count < WIRE_MIRROR_PARTS_MAX; *at = (*at)->next) {
        if ((*at)->memory.session != session || !is_written_by_gpu(*at) ||
            (work && (*at)->settled == work))
            continue;
        rows[count] = *at;
        wanted[count++] = compared_memory_fetch_of(*at);
    }
    CUresult result = host_changes_fetch_all(wanted, count, &lock);
    for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++)
        rows[i]->settled = work;
    return result;
}

void compared_fetch(struct box_session *session)
{
    if (!atomic_load_explicit(&list_count, memory_order_relaxed))
        return;
    uint64_t work = idle_mark(session);
    if (!idle_is_known(session))
        work = 0;
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&fetching);
    for (struct compared *at = first_of_list(); at;) {
        CUresult fetched = fetch_some(session, &at, work);
        result = result == CUDA_SUCCESS ? fetched : result;
    }
    if (result != CUDA_SUCCESS)
        tell_once("what a GPU wrote to page-locked memory cannot be fetched (error %d)",
                  (int)result);
}

// ---- while a kernel runs ----

// Memory whose words are exchanged.
struct polled {
    struct compared *rows[POLLED_COUNT];
    unsigned int count;
};

static bool may_be_working(const struct compared *one)
{
    return !session_lost(one->memory.session) && !idle_is_known(one->memory.session);
}

static void find_polled(struct polled *polled)
{
    polled->count = 0;
    for (struct compared *one = first_of_list(); one && polled->count < POLLED_COUNT;
         one = one->next)
        if (is_polled(one) && may_be_working(one))
            polled->rows[polled->count++] = one;
}

// Sends changed words. What the program wrote to larger memory before goes ahead of them.
static void send_words(const struct polled *polled, bool *changed)
{
    bool any = false;
    SCOPED_LOCK(&lock);
    for (unsigned int i = 0; i < polled->count && !any; i++)
        any = byte_changes_any((const uint8_t *)(uintptr_t)polled->rows[i]->memory.base,
                               polled->rows[i]->known, polled->rows[i]->memory.size);
    if (!any)
        return;
    for (struct compared *one = list; one; one = one->next)
        if (!is_polled(one) && may_be_working(one))
            (void)send_one(one, NULL);
    for (unsigned int i = 0; i < polled->count; i++)
        (void)send_one(polled->rows[i], changed);
}

static bool ask_until_settled(struct settled_changes *changes, unsigned int count)
{
    bool any = false, more = true;
    for (int round = 0; round < ROUNDS && more; round++) {
        more = false;
        for (unsigned int i = 0; i < count; i++)
            (void)settled_ask(&changes[i], &more);
        any = any || more;
    }
    return any;
}

static void apply_settled(struct settled_changes *changes, unsigned int count)
{
    SCOPED_LOCK(&lock);
    for (unsigned int i = 0; i < count; i++)
        settled_pack(&changes[i]);
    for (unsigned int i = 0; i < count; i++)
        settled_apply(&changes[i], false);
    for (unsigned int i = 0; i < count; i++)
        settled_apply(&changes[i], true);
}

static CUresult fetch_alone(const struct compared *one)
{
    struct host_fetch fetch = compared_memory_fetch_of(one);
    return host_changes_fetch(&fetch, &lock);
}

// Fetches changed words. What the GPU wrote to larger memory before comes ahead of them.
static void fetch_words(const struct polled *polled, bool *changed)
{
    struct settled_changes changes[POLLED_COUNT];
    unsigned int count = 0;
    for (unsigned int i = 0; i < polled->count; i++) {
        const struct compared *one = polled->rows[i];
        if (is_written_by_gpu(one))
            changes[count++] =
                (struct settled_changes){.part = compared_memory_part_of(one),
                                         .memory = (uint8_t *)(uintptr_t)one->memory.base,
                                         .known = one->known,
                                         .size = one->memory.size};
    }
    if (ask_until_settled(changes, count)) {
        *changed = true;
        for (struct compared *one = first_of_list(); one; one = one->next)
            if (!is_polled(one) && is_written_by_gpu(one) && may_be_working(one))
                (void)fetch_alone(one);
        apply_settled(changes, count);
    }
    for (unsigned int i = 0; i < count; i++)
        settled_release(&changes[i]);
}

bool compared_exchange(bool *changed)
{
    struct polled polled;
    *changed = false;
    SCOPED_LOCK(&fetching);
    find_polled(&polled);
    send_words(&polled, changed);
    fetch_words(&polled, changed);
    return polled.count > 0;
}

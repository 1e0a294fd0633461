// SPDX-License-Identifier: BSD-3-Clause
// Implements mirror.h. One lock covers all mirrors. It is held while bytes move, and never while
// waiting for the GPU.
#include "client-lib/cuda/managed/mirror.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/cuda/managed/guard_choice.h"
#include "client-lib/cuda/managed/mirror_chunks.h"
#include "client-lib/cuda/managed/quiet.h"
#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/report/tell.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"

enum {
    RUN_MAX = 32 * 1024 * 1024 / MIRROR_CHUNK, // limit of chunks per fetch
    RUN_FROM = 2 * 1024 * 1024 / MIRROR_CHUNK, // the same, before the speed is known
    AHEAD_FROM = 512 * 1024 /
                 // length of a sequence of faults after which chunks are fetched ahead
                 MIRROR_CHUNK,
    PIECE_US = 2000, // target time of one fetch: other threads wait for it
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges mirrors; // values: struct mirror
static const struct guard *guard;
static _Atomic unsigned int not_away;      // mirrors with chunks that are not AWAY
static _Atomic unsigned int host_not_away; // the same, of page-locked memory
static _Atomic int pending_error; // an error found by a fault, to be returned by the next call

// ---- state of chunks ----

static struct mirror *mirror_find(uint64_t address)
{
    struct range *range = ranges_find(&mirrors, address);
    return range ? range->value : NULL;
}

static size_t chunk_of(const struct mirror *mirror, uint64_t address)
{
    return (address - mirror->place.base) / MIRROR_CHUNK;
}

static void set_away(struct mirror *mirror, bool away)
{
    if (mirror->away == away)
        return;
    mirror->away = away;
    atomic_fetch_add(mirror->place.region ? &host_not_away : &not_away, away ? -1U : 1U);
}

static void set_chunks(struct mirror *mirror, size_t first, size_t count, enum chunk_state state)
{
    memset(mirror->chunks + first, state, count);
    if (state != CHUNK_AWAY)
        set_away(mirror, false);
}

// ---- before work of the GPU ----

// Closes the program view first: if another thread writes meanwhile, it faults and waits for the
// lock.
static CUresult mirror_hand_over(struct mirror *mirror)
{
    guard->close(mirror->place.base, mirror->place.size);
    CUresult result = mirror_send_all(mirror);
    set_chunks(mirror, 0, mirror->count, CHUNK_AWAY);
    set_away(mirror, true);
    mirror->ahead_end = 0;
    return result;
}

// Selects mirrors: all of a session that work of a stream may touch, or only those of page-locked
// memory.
struct mirrors_meant {
    const struct box_session *session;
    uint64_t stream;
    bool host_only;
};

static bool is_chosen(const struct mirror *mirror, const struct mirrors_meant *choice)
{
    if (mirror->place.session != choice->session || mirror->away)
        return false;
    return mirror->place.region || (!choice->host_only && (!mirror->stream || !choice->stream ||
                                                           mirror->stream == choice->stream));
}

static CUresult hand_over_chosen(const struct mirrors_meant *choice)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < mirrors.count; i++) {
        struct mirror *mirror = mirrors.rows[i].value;
        if (!is_chosen(mirror, choice))
            continue;
        CUresult sent = mirror_hand_over(mirror);
        result = result == CUDA_SUCCESS ? sent : result;
    }
    CUresult ended = choice->host_only ? CUDA_SUCCESS : mirror_moves_end();
    return result == CUDA_SUCCESS ? ended : result;
}

CUresult mirrors_hand_over(const struct box_session *session, uint64_t stream)
{
    if (guard)
        guard->renew();
    if (!atomic_load(&not_away) && !atomic_load(&host_not_away))
        return CUDA_SUCCESS;
    CUresult result =
        hand_over_chosen(&(struct mirrors_meant){.session = session, .stream = stream});
    int pending = result == CUDA_SUCCESS ? atomic_exchange(&pending_error, 0) : 0;
    return pending ? (CUresult)pending : result;
}

CUresult mirrors_hand_over_host(const struct box_session *session)
{
    return atomic_load(&host_not_away)
               ? hand_over_chosen(&(struct mirrors_meant){.session = session, .host_only = true})
               : CUDA_SUCCESS;
}

// ---- faults ----

// Returns how many chunks one fault opens. The number grows while the program accesses memory in
// order.
static size_t run_length(struct mirror *mirror, size_t first, bool write)
{
    struct run_ahead *run = write ? &mirror->writes : &mirror->reads;
    size_t more = 4 * run->length < mirror->piece ? 4 * run->length : mirror->piece;
    run->length = first == run->next && more ? more : 1;
    size_t wanted = run->length, count = 0;
    if (first >= mirror->expect_first && first < mirror->expect_end)
        wanted = mirror->expect_end - first;
    while (count < wanted && first + count < mirror->count &&
           mirror_needs(mirror, first + count, write))
        count++;
    run->next = first + count;
    return count;
}

// State of opening the program view in parts, from several threads.
struct view_opening {
    bool write;
    atomic_bool written; // some of it is writable
    _Atomic int error;
};

// Opens FRESH chunks for writing at once, because the GPU does not hold their zeros.
static void mirror_open_part(void *argument, uint64_t address, size_t size, enum chunk_state was)
{
    struct view_opening *opening = argument;
    bool write = opening->write || was == CHUNK_FRESH;
    int opened = was == CHUNK_SHARED ? guard->allow(address, size)
                                     : guard->open(address, size, write);
    if (opened < 0)
        atomic_store(&opening->error, opened);
    else if (opened || was == CHUNK_SHARED)
        atomic_store(&opening->written, true);
}

// Opens the whole program view, which always succeeds.
static void mirror_open_all(struct mirror *mirror)
{
    (void)mirror_bring(mirror, 0, mirror->count, NULL);
    int writable = guard->open(mirror->place.base, mirror->place.size, true);
    if (writable < 0)
        log_error("cannot open managed memory address=0x%llx error=\"%s\"",
                  (unsigned long long)mirror->place.base, strerror(-writable));
    set_chunks(mirror, 0, mirror->count, CHUNK_WRITTEN);
}

// Fetches the chunks and opens the program view there. Marks the mirror as not away first: the
// faulting thread may send work as soon as the program view is open, and reads that mark without
// the lock.
static CUresult bring_and_open(struct mirror *mirror, size_t first, size_t count, bool write)
{
    struct view_opening opening = {.write = write};
    struct mirror_opener opener = {mirror_open_part, &opening};
    set_away(mirror, false);
    CUresult result = mirror_bring(mirror, first, count, &opener);
    if (result != CUDA_SUCCESS)
        return result;
    if (atomic_load(&opening.error))
        mirror_open_all(mirror);
    else
        set_chunks(mirror, first, count,
                   atomic_load(&opening.written) ? CHUNK_WRITTEN : CHUNK_SHARED);
    return CUDA_SUCCESS;
}

// Handles a failed fetch. If the GPU's context has failed, the program continues with this
// process's old bytes, and its next call returns the error. If the box is lost, the access ends the
// program like one to unmapped memory.
static bool open_anyway(struct mirror *mirror, size_t first, size_t count, CUresult result)
{
    int none = 0;
    bool host = mirror->place.region != 0; // this host has the memory even if the box is lost
    atomic_compare_exchange_strong(&pending_error, &none, (int)result);
    if (!host && session_lost(mirror->place.session)) {
        tell_once(
            "managed memory at 0x%llx is touched, whose contents were on box %s, which is lost",
            (unsigned long long)mirror->place.base, mirror->place.session->box);
        return false;
    }
    if (!host)
        tell_once("managed memory at 0x%llx cannot be fetched (error %d): the program sees what it "
                  "wrote last",
                  (unsigned long long)mirror->place.base, (int)result);
    (void)guard->open(mirror_address(mirror, first), mirror_bytes(mirror, first, count), true);
    set_chunks(mirror, first, count, CHUNK_WRITTEN);
    return true;
}

// The caller holds the lock.
static bool bring(struct mirror *mirror, uint64_t address, bool write)
{
    size_t first = chunk_of(mirror, address);
    if (!mirror_needs(mirror, first, write))
        return guard->open(mirror_address(mirror, first), mirror_bytes(mirror, first, 1), write) >=
               0; // another thread opened it
    size_t count = run_length(mirror, first, write);
    CUresult result = bring_and_open(mirror, first, count, write);
    if (result != CUDA_SUCCESS)
        return open_anyway(mirror, first, count, result);
    if (!write && mirror->reads.length >= AHEAD_FROM) {
        size_t end = first + count + 4 * mirror->reads.length;
        mirror->ahead = first + count;
        mirror->ahead_end = end < mirror->count ? end : mirror->count;
    }
    return true;
}

bool mirror_touch(uint64_t address, bool write)
{
    struct mirror_place place = {0};
    uint64_t stream = 0;
    {
        SCOPED_LOCK(&lock);
        const struct mirror *mirror = mirror_find(address);
        if (!mirror)
            return false;
        place = mirror->place;
        stream = mirror->stream;
    }
    if (!place.region) // both sides may use page-locked memory at any time
        quiet_await(place.session, place.context, stream);
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(address);
    return mirror && bring(mirror, address, write);
}

// Adapts the fetch size: larger fetches are faster, but other threads wait longer for them.
static void choose_piece(struct mirror *mirror, uint64_t took_us)
{
    size_t *piece = &mirror->piece;
    if (took_us < PIECE_US && *piece < RUN_MAX)
        *piece *= 2;
    else if (took_us > 4 * PIECE_US && *piece > RUN_FROM)
        *piece /= 2;
}

// Fetches one piece ahead of a program that reads in order. Returns true if more remains.
static bool bring_ahead(void)
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < mirrors.count; i++) {
        struct mirror *mirror = mirrors.rows[i].value;
        size_t count = 0;
        while (mirror->ahead + count < mirror->ahead_end && count < mirror->piece &&
               mirror->chunks[mirror->ahead + count] == CHUNK_AWAY)
            count++;
        uint64_t began = clock_us();
        if (!count || bring_and_open(mirror, mirror->ahead, count, false) != CUDA_SUCCESS) {
            mirror->ahead_end = 0;
            continue;
        }
        if (count == mirror->piece)
            choose_piece(mirror, clock_us() - began);
        mirror->ahead += count;
        mirror->reads.next = mirror->ahead;
        return true;
    }
    return false;
}

// ---- adding and removing mirrors ----

static void free_mirror(struct mirror *mirror)
{
    if (mirror->library_view)
        munmap(mirror->library_view, mirror->place.size);
    if (mirror->known)
        munmap(mirror->known, mirror->place.size);
    free(mirror->parts.rows);
    free(mirror);
}

// Returns memory that can be mapped a second time. It is not a file, because a process's file size
// may be limited.
static void *map_library_view(size_t size)
{
    void *mapped =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    madvise(mapped, size, MADV_DONTFORK); // a forked child has no managed memory
    return mapped;
}

// Maps the same pages at AT, without access rights.
static bool map_program_view(void *library_view, size_t size, uint64_t at)
{
    void *mapped =
        mremap(library_view, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(uintptr_t)at);
    if (mapped == MAP_FAILED)
        return false;
    madvise(mapped, size, MADV_DONTFORK);
    return mprotect(mapped, size, PROT_NONE) == 0;
}

static void *map_own(size_t size)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

// Reserves the addresses of a range without a mirror, so that nothing else is mapped there.
static void reserve_program_view(const struct mirror_place *place)
{
    (void)mmap((void *)(uintptr_t)place->base, place->size, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static struct mirror *make_mirror(const struct mirror_place *place)
{
    size_t count = (place->size + MIRROR_CHUNK - 1) / MIRROR_CHUNK;
    struct mirror *mirror = calloc(1, sizeof(*mirror) + count);
    if (!mirror)
        return NULL;
    mirror->place = *place;
    mirror->count = count;
    mirror->piece = RUN_FROM;
    mirror->away = true;
    mirror->library_view = map_library_view(place->size);
    mirror->known = place->region ? map_own(place->size) : NULL;
    if (mirror->library_view && (mirror->known || !place->region) &&
        map_program_view(mirror->library_view, place->size, place->base)) {
        set_chunks(mirror, 0, count, place->fresh ? CHUNK_FRESH : CHUNK_AWAY);
        return mirror;
    }
    free_mirror(mirror);
    return NULL;
}

// Frees a mirror, which may or may not be listed.
static void mirror_drop(struct mirror *mirror)
{
    void *value;
    (void)ranges_remove(&mirrors, mirror->place.base, &value);
    guard->remove(mirror->place.base, mirror->place.size);
    reserve_program_view(&mirror->place);
    set_away(mirror, true);
    free_mirror(mirror);
}

void mirrors_context_ends(uint64_t context)
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < mirrors.count; i++) {
        struct mirror *mirror = mirrors.rows[i].value;
        if (mirror->place.context == context)
            mirror->ahead_end = 0;
    }
}

void mirrors_context_gone(uint64_t context)
{
    for (bool found = true; found;) {
        uint64_t base = 0;
        found = false;
        {
            SCOPED_LOCK(&lock);
            for (size_t i = 0; i < mirrors.count && !found; i++) {
                base = mirrors.rows[i].base;
                found = ((struct mirror *)mirrors.rows[i].value)->place.context == context;
            }
        }
        if (found)
            mirror_remove(base);
    }
}

static const struct guard_client asked_by_guard = {.touch = mirror_touch, .ahead = bring_ahead};

CUresult mirror_add(const struct mirror_place *place)
{
    SCOPED_LOCK(&lock);
    if (!guard && !(guard = guard_choose(&asked_by_guard)))
        return CUDA_ERROR_NOT_SUPPORTED;
    struct mirror *mirror = make_mirror(place);
    if (!mirror)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = guard->add(place->base, place->size);
    if (!err)
        err = ranges_add(&mirrors, place->base, place->size, mirror);
    if (!err)
        return CUDA_SUCCESS;
    log_error("cannot guard managed memory address=0x%llx size=%llu error=\"%s\"",
              (unsigned long long)place->base, (unsigned long long)place->size, strerror(-err));
    reserve_program_view(place);
    set_away(mirror, true);
    free_mirror(mirror);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

bool mirror_remove(uint64_t base)
{
    void *value;
    SCOPED_LOCK(&lock);
    if (!ranges_remove(&mirrors, base, &value))
        return false;
    mirror_drop(value);
    return true;
}

bool mirror_knows(uint64_t base)
{
    SCOPED_LOCK(&lock);
    return mirror_find(base) != NULL;
}

static bool is_fresh(const struct mirror *mirror)
{
    size_t i = 0;
    while (i < mirror->count && mirror->chunks[i] == CHUNK_FRESH)
        i++;
    return i == mirror->count;
}

bool mirror_renew(uint64_t base)
{
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(base);
    if (!mirror || is_fresh(mirror))
        return mirror != NULL;
    guard->close(base, mirror->place.size);
    madvise(mirror->library_view, mirror->place.size, MADV_REMOVE);
    set_chunks(mirror, 0, mirror->count, CHUNK_FRESH);
    mirror->ahead_end = mirror->expect_end = 0;
    mirror->stream = 0;
    return true;
}

CUresult mirror_add_part(uint64_t address, uint64_t size)
{
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(address);
    if (!mirror)
        return CUDA_ERROR_INVALID_VALUE;
    // Bytes fetched so far lack the new part: sends them back, so that the next access fetches all.
    CUresult sent = mirror->away ? CUDA_SUCCESS : mirror_hand_over(mirror),
             ended = mirror_moves_end();
    int err = ranges_add(&mirror->parts, address, size, NULL);
    if (err && err != -EEXIST)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return sent == CUDA_SUCCESS ? ended : sent;
}

void mirror_remove_part(uint64_t address)
{
    void *value;
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(address);
    if (mirror)
        (void)ranges_remove(&mirror->parts, address, &value);
}

bool mirror_attach(uint64_t base, uint64_t stream)
{
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(base);
    if (mirror)
        mirror->stream = stream;
    return mirror != NULL;
}

CUresult mirror_send(uint64_t address, size_t size)
{
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(address);
    if (!mirror || mirror->away)
        return CUDA_SUCCESS;
    CUresult sent = mirror_hand_over(mirror), ended = mirror_moves_end();
    return sent == CUDA_SUCCESS ? ended : sent;
}

void mirror_expect(uint64_t address, size_t size)
{
    SCOPED_LOCK(&lock);
    struct mirror *mirror = mirror_find(address);
    if (!mirror || !size)
        return;
    mirror->expect_first = chunk_of(mirror, address);
    mirror->expect_end = chunk_of(mirror, address + size - 1) + 1;
}

// SPDX-License-Identifier: BSD-3-Clause
// Records arrive in the order in which the driver completes them, so the record of a kernel may
// arrive before its call is known. The call is therefore looked up when the client takes the
// record.
#include "daemon/worker/activity/activity_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/core/setup.h"

enum {
    STORE_FIRST = 64 << 10,
    CALLS = 1 << 20,  // calls whose numbers are remembered
    PLACES = 1 << 14, // copies in pieces that are
    NAMES = 1 << 14,  // different names of kernels
    KNOWN = 1 << 10,  // addresses of names
    NAME_MAX_BYTES = 4096,
};

atomic_bool activity_noted;
_Thread_local uint32_t activity_call;

// Both kinds of numbers count up, so the lowest bits tell apart what is near. One for each launch,
// so without a lock: the driver's number above the program's.
static _Atomic(_Atomic uint64_t *) calls;

struct call_place {
    uint32_t number, stream;
};

static struct {
    pthread_mutex_t lock;
    uint8_t *data;
    size_t room, first, end; // bytes; records lie from first to end
    uint64_t dropped;
    bool open;
    struct call_place places[PLACES];
    char *names[NAMES]; // by their hash; the index is the number
    // The number of a name by its address: those of one kernel have one address, as long as the
    // kernel exists.
    struct known_name {
        const char *at;
        uint32_t number;
    } known[KNOWN];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

int activity_store_open(void)
{
    SCOPED_LOCK(&store.lock);
    // A reported call may still run after the last profiler has gone, so the store stays; its pages
    // exist only if used.
    if (!atomic_load(&calls))
        atomic_store(&calls, calloc(CALLS, sizeof(_Atomic uint64_t)));
    store.first = store.end = 0;
    store.dropped = 0;
    store.open = atomic_load(&calls) != NULL;
    return store.open ? 0 : -ENOMEM;
}

void activity_store_close(void)
{
    SCOPED_LOCK(&store.lock);
    free(store.data);
    store.data = NULL;
    store.open = false;
    store.room = store.first = store.end = 0;
    memset(store.known, 0, sizeof(store.known));
    for (size_t i = 0; i < NAMES; i++) {
        free(store.names[i]);
        store.names[i] = NULL;
    }
}

void store_name_call(uint32_t driver_call, uint32_t number)
{
    _Atomic uint64_t *list = atomic_load_explicit(&calls, memory_order_relaxed);

    if (list)
        atomic_store_explicit(&list[driver_call % CALLS], (uint64_t)driver_call << 32 | number,
                              memory_order_relaxed);
}

void store_place_call(uint32_t number, uint32_t stream)
{
    SCOPED_LOCK(&store.lock);
    store.places[number % PLACES] = (struct call_place){number, stream};
}

// ---- adding; under the lock ----

// Moved is only what is at most as much as was taken since, so that each record moves a few times
// at most.
static bool activity_store_make_room(size_t size)
{
    if (store.end + size <= store.room)
        return true;
    bool largest = store.room * 2 > setup.worker.activity_memory;
    if (store.first >= store.room / 2 || (largest && store.first >= store.room / 16)) {
        memmove(store.data, store.data + store.first, store.end - store.first);
        store.end -= store.first;
        store.first = 0;
    }
    if (store.end + size <= store.room)
        return true;
    size_t room = store.room ? store.room * 2 : STORE_FIRST;
    uint8_t *data = room <= setup.worker.activity_memory ? realloc(store.data, room) : NULL;
    if (!data)
        return false;
    store.data = data;
    store.room = room;
    return true;
}

static bool activity_store_append(const void *record, size_t size)
{
    if (!activity_store_make_room(size))
        return false;
    memcpy(store.data + store.end, record, size);
    store.end += size;
    return true;
}

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

static bool send_name(uint32_t number, const char *text, size_t length)
{
    char buffer[sizeof(struct wire_activity_name) + NAME_MAX_BYTES + 8] = {0};
    struct wire_activity_name *record = (void *)buffer;
    record->size = (uint16_t)((sizeof(*record) + length + 1 + 7) & ~(size_t)7);
    record->kind = WIRE_ACTIVITY_NAME;
    record->name = number;
    memcpy(record->text, text, length);
    return activity_store_append(record, record->size);
}

// The number of a name, by its hash; the name is sent before its number is used first. Number 0 is
// no name: none was given, or there are too many.
static uint32_t activity_store_look_up(const char *text)
{
    size_t length = strnlen(text, NAME_MAX_BYTES);
    uint32_t at = hash_of(text, length);
    for (unsigned tries = 0; tries < NAMES; tries++, at++) {
        uint32_t number = at % (NAMES - 1) + 1;
        char *known = store.names[number];
        if (known && !strncmp(known, text, NAME_MAX_BYTES))
            return number;
        if (known)
            continue;
        store.names[number] = strndup(text, length);
        if (!store.names[number] || !send_name(number, text, length)) {
            free(store.names[number]);
            store.names[number] = NULL;
            return 0;
        }
        return number;
    }
    return 0;
}

// The same number as before where the address has the same text: names are long, and comparing is
// much quicker than to look them up.
static uint32_t activity_store_number_of(const char *text)
{
    struct known_name *known =
        &store.known[((uintptr_t)text >> 4) * 0x9e3779b1u >> 8 & (KNOWN - 1)];

    if (known->at == text && !strncmp(store.names[known->number], text, NAME_MAX_BYTES))
        return known->number;
    uint32_t number = activity_store_look_up(text);
    if (number)
        *known = (struct known_name){text, number};
    return number;
}

void activity_records_begin(void)
{
    pthread_mutex_lock(&store.lock);
}

void activity_records_end(void)
{
    pthread_mutex_unlock(&store.lock);
}

void store_add(struct wire_activity *record, const char *name)
{
    if (!store.open)
        return;
    record->size = sizeof(*record);
    record->name = name ? activity_store_number_of(name) : 0;
    if (!activity_store_append(record, sizeof(*record)))
        store.dropped++;
}

void store_lost(uint64_t records)
{
    store.dropped += records;
}

// ---- taking; under the lock ----

static void activity_store_resolve(struct wire_activity *record)
{
    uint64_t call = atomic_load_explicit(&atomic_load(&calls)[record->correlation % CALLS],
                                         memory_order_relaxed);
    record->correlation = call >> 32 == record->correlation ? (uint32_t)call : 0;
    const struct call_place *place = &store.places[record->correlation % PLACES];
    if (record->kind == WIRE_ACTIVITY_COPY && record->correlation &&
        place->number == record->correlation && place->stream)
        record->stream = place->stream;
}

static size_t activity_store_take_one(uint8_t *to, size_t room)
{
    struct wire_activity_name head;
    uint8_t *from = store.data + store.first;
    memcpy(&head, from, sizeof(head));
    if (head.size > room)
        return 0;
    memcpy(to, from, head.size);
    if (head.kind != WIRE_ACTIVITY_NAME)
        activity_store_resolve((struct wire_activity *)(void *)to);
    store.first += head.size;
    return head.size;
}

size_t store_take(void *to, size_t room, uint64_t *dropped, uint32_t *left)
{
    size_t used = 0, size;
    SCOPED_LOCK(&store.lock);
    while (store.open && store.first < store.end &&
           (size = activity_store_take_one((uint8_t *)to + used, room - used)))
        used += size;
    *dropped = store.dropped;
    *left = (uint32_t)(store.end - store.first);
    return used;
}

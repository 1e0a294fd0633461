// SPDX-License-Identifier: BSD-3-Clause
// Handles: minted on one side, bound on the other, and never believed without a check.
#include "common/base/handle_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/tap.h"

enum { STREAM = 1, EVENT = 2, MANY = 5000, ROUNDS = 20000 };

static int objects[MANY];
static atomic_bool stop;

static void garbage_is_refused(struct handle_table *table)
{
    uint64_t handle = handle_mint(table, STREAM, &objects[0]);
    static const uint64_t garbage[] = {0, 1, 2, UINT64_MAX, 0x8000000000000000ull, 0x7fffffffffff};
    bool none = true;

    ok(handle_find(table, handle, STREAM) == &objects[0], "a live handle gives its object");
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
        for (unsigned type = 0; type < 256; type++)
            none = none && !handle_find(table, garbage[i], type);
    ok(none, "garbage gives nothing");
    ok(!handle_find(table, handle, EVENT), "a handle of another type gives nothing");
    ok(!handle_find(table, handle + 1, STREAM), "a neighbouring index gives nothing");
    ok(!handle_find(table, handle + (1ull << 28), STREAM), "another generation gives nothing");
    ok(handle_release(table, handle, EVENT) == NULL, "releasing as another type does nothing");
    ok(handle_release(table, handle, STREAM) == &objects[0], "releasing gives the object");
    ok(!handle_find(table, handle, STREAM), "a released handle gives nothing");
    ok(!handle_release(table, handle, STREAM), "and cannot be released again");
    uint64_t next = handle_mint(table, STREAM, &objects[1]);
    ok(handle_index(next) == handle_index(handle) && next != handle,
       "an index comes back with another generation");
    ok(!handle_find(table, handle, STREAM), "the stale handle stays stale");
    handle_release(table, next, STREAM);
    is_int(handle_mint(table, 0, &objects[0]), 0, "type 0 is refused");
    is_int(handle_mint(table, 128, &objects[0]), 0, "type 128 is refused");
    is_int(handle_mint(table, STREAM, NULL), 0, "an object of NULL is refused");
}

static void foreign_handles_are_refused(void)
{
    struct handle_table *here = handle_table_new(1), *there = handle_table_new(2);
    uint64_t mine = handle_mint(here, STREAM, &objects[0]);
    uint64_t theirs = handle_mint(there, STREAM, &objects[1]);

    ok(mine != theirs, "two tables mint different handles");
    ok(!handle_find(here, theirs, STREAM) && !handle_find(there, mine, STREAM),
       "a handle of another table gives nothing");
    handle_table_free(&here);
    handle_table_free(&there);
    ok(!here, "freeing clears the pointer");
}

static void binding(struct handle_table *client)
{
    struct handle_table *worker = handle_table_new(0);
    uint64_t a = handle_mint(client, STREAM, &objects[0]);

    is_int(handle_bind(worker, a, &objects[1]), 0, "the other side binds the same value");
    ok(handle_find(worker, a, STREAM) == &objects[1], "to its own object");
    is_int(handle_bind(worker, a, &objects[2]), -EEXIST, "binding twice is refused");
    is_int(handle_bind(worker, 5, &objects[2]), -EINVAL, "binding a small number is refused");
    is_int(handle_bind(worker, (uint64_t)STREAM << 56 | HANDLE_INDEX_LIMIT, &objects[2]), -EINVAL,
           "binding an index over the limit is refused");
    is_int(handle_bind(worker, UINT64_MAX, &objects[2]), -EINVAL, "so is -1");
    ok(handle_release(worker, a, STREAM) == &objects[1], "released");
    handle_release(client, a, STREAM);
    uint64_t b = handle_mint(client, EVENT, &objects[3]);
    is_int(handle_bind(worker, b, &objects[4]), 0, "the index can be bound again");
    ok(!handle_find(worker, a, STREAM), "under the new handle only");
    handle_release(client, b, EVENT);
    handle_table_free(&worker);
}

struct tally {
    unsigned count;
    struct handle_table *table;
};

static void release_visited(void *argument, uint64_t handle, void *object)
{
    struct tally *tally = argument;

    tally->count++;
    if (!handle_release(tally->table, handle, handle_type(handle)))
        fail("visiting gave a dead handle");
}

static void many(struct handle_table *table)
{
    static uint64_t handles[MANY];
    struct tally tally = {.table = table};
    bool good = true;

    for (int i = 0; i < MANY; i++)
        handles[i] = handle_mint(table, i % 2 ? STREAM : EVENT, &objects[i]);
    for (int i = 0; i < MANY; i++)
        good = good && handle_find(table, handles[i], i % 2 ? STREAM : EVENT) == &objects[i];
    ok(good, "thousands of handles, each with its object");
    handle_table_each(table, STREAM, release_visited, &tally);
    is_int(tally.count, MANY / 2, "visiting by type");
    handle_table_each(table, 0, release_visited, &tally);
    is_int(tally.count, MANY, "visiting the rest");
}

// Mints and releases while others look up what may be stale.
static void *churn(void *argument)
{
    struct handle_table *table = argument;
    int *object = malloc(sizeof(int));

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t handle = handle_mint(table, STREAM, object);
        if (handle_find(table, handle, STREAM) != object ||
            handle_release(table, handle, STREAM) != object)
            fail("a thread lost its own handle");
    }
    free(object);
    return NULL;
}

static void *look(void *argument)
{
    struct handle_table *table = argument;
    uint64_t fixed = handle_mint(table, EVENT, &objects[7]);
    bool good = true;

    while (!atomic_load(&stop)) {
        good = good && handle_find(table, fixed, EVENT) == &objects[7];
        good = good && !handle_find(table, fixed ^ (1ull << 30), EVENT);
    }
    return good ? table : NULL;
}

static void threads(struct handle_table *table)
{
    pthread_t churners[3], looker;
    void *result;

    pthread_create(&looker, NULL, look, table);
    for (int i = 0; i < 3; i++)
        pthread_create(&churners[i], NULL, churn, table);
    for (int i = 0; i < 3; i++)
        pthread_join(churners[i], NULL);
    atomic_store(&stop, true);
    pthread_join(looker, &result);
    ok(result, "lookups stay right while other threads mint and release");
}

int main(void)
{
    struct handle_table *table = handle_table_new(9);

    garbage_is_refused(table);
    foreign_handles_are_refused();
    binding(table);
    many(table);
    threads(table);
    handle_table_free(&table);
    return done();
}

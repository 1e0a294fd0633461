// SPDX-License-Identifier: BSD-3-Clause
// Tests the worker's store of activity records. Each record has the number of its call and of its
// name. A name is sent once, and again if another name has taken its address. The store is limited
// and counts lost records.
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "daemon/worker/activity/activity_store.h"
#include "daemon/worker/core/setup.h"

enum { ROOM = 60 * 1024, LIMIT = 256 * 1024 };

static uint8_t out[ROOM] __attribute__((aligned(8)));
static struct wire_activity last;
static unsigned records, names;

static void add(uint32_t driver_call, uint32_t call, const char *name)
{
    struct wire_activity record = {.kind = WIRE_ACTIVITY_KERNEL, .correlation = driver_call};
    store_name_call(driver_call, call);
    activity_records_begin();
    store_add(&record, name);
    activity_records_end();
}

// Takes all; how many were lost so far.
static uint64_t take(void)
{
    uint64_t dropped = 0;
    uint32_t left = 1;
    records = names = 0;
    while (left) {
        size_t used = store_take(out, sizeof(out), &dropped, &left);
        for (size_t at = 0; at < used;) {
            const struct wire_activity_name *head = (const void *)(out + at);
            if (head->kind == WIRE_ACTIVITY_NAME)
                names++;
            else
                memcpy(&last, head, sizeof(last));
            records += head->kind != WIRE_ACTIVITY_NAME;
            at += head->size;
        }
    }
    return dropped;
}

int main(void)
{
    char text[32] = "first";
    setup.worker.activity_memory = LIMIT;
    is_int(activity_store_open(), 0, "the store opens");
    add(7, 70, text);
    add(8, 80, text);
    take();
    is_int(records, 2, "what was noted comes");
    is_int(names, 1, "a name is told once");
    is_int(last.correlation, 80, "a record has the number of the program's call");
    uint32_t first = last.name;
    strcpy(text, "second");
    add(9, 90, text);
    take();
    ok(names == 1 && last.name != first, "what is at a name's address now is another name");
    strcpy(text, "first");
    add(10, 100, text);
    take();
    ok(!names && last.name == first, "and the first one has its number still");
    char *endless = calloc(1, 10000);
    memset(endless, 'x', 9999);
    add(11, 110, endless);
    add(12, 120, endless);
    take();
    ok(records == 2 && names == 1, "a name beyond all measure is shortened, and told once");
    for (uint32_t i = 0; i < 3 * LIMIT / sizeof(last); i++)
        add(100 + i, i, text);
    uint64_t lost = take();
    is_int(records + (int64_t)lost, 3 * LIMIT / sizeof(last), "what does not fit is counted");
    ok(records * sizeof(last) > LIMIT / 2, "and what fits is there");
    for (unsigned round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < 100; i++)
            add(i + 1, i + 1, text);
        if (take() != lost || records != 100)
            lost = UINT64_MAX;
    }
    ok(lost != UINT64_MAX, "nothing more is lost while it is taken");
    activity_store_close();
    add(1, 1, text);
    take();
    is_int(records, 0, "a store that is closed takes nothing");
    free(endless);
    return done();
}

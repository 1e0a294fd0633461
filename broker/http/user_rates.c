// SPDX-License-Identifier: BSD-3-Clause
// One token bucket for each user with recent requests.
#include "broker/http/user_rates.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/service/allowance.h"
#include "common/base/clock.h"

struct bucket {
    TAILQ_ENTRY(bucket) order;
    char name[64];
    struct allowance requests, work; // work in microseconds
    int64_t used_ms;
};

TAILQ_HEAD(bucket_list, bucket);

struct user_rates {
    int64_t at_once, per_second;
    // A bucket that was not used for so long is full again, and is the same as none.
    int64_t forget_ms;
    void *names;
    struct bucket_list order; // the one used last at the end
};

static int user_rates_compare(const void *a, const void *b)
{
    return strcmp(((const struct bucket *)a)->name, ((const struct bucket *)b)->name);
}

struct user_rates *user_rates_new(int64_t at_once, int64_t per_second)
{
    struct user_rates *rates = calloc(1, sizeof(*rates));

    if (!rates)
        return NULL;
    rates->at_once = at_once;
    rates->per_second = per_second;
    rates->forget_ms = at_once / per_second * 1000 + 1000;
    TAILQ_INIT(&rates->order);
    return rates;
}

static void user_rates_forget(struct user_rates *rates, struct bucket *bucket)
{
    TAILQ_REMOVE(&rates->order, bucket, order);
    tdelete(bucket, &rates->names, user_rates_compare);
    free(bucket);
}

void user_rates_free(struct user_rates **pointer)
{
    struct user_rates *rates = *pointer;

    while (rates && !TAILQ_EMPTY(&rates->order))
        user_rates_forget(rates, TAILQ_FIRST(&rates->order));
    free(rates);
    *pointer = NULL;
}

static struct bucket *user_rates_find(struct user_rates *rates, const char *name)
{
    struct bucket *bucket = calloc(1, sizeof(*bucket)), **known;

    if (!bucket)
        return NULL;
    snprintf(bucket->name, sizeof(bucket->name), "%s", name);
    known = tsearch(bucket, &rates->names, user_rates_compare);
    if (!known || *known != bucket) {
        free(bucket);
        return known ? *known : NULL;
    }
    allowance_start(&bucket->requests, rates->at_once, rates->per_second);
    allowance_start(&bucket->work, USER_WORK_MS_AT_ONCE * 1000, USER_WORK_MS_PER_SECOND * 1000);
    TAILQ_INSERT_TAIL(&rates->order, bucket, order);
    return bucket;
}

// The bucket, used now; NULL without memory.
static struct bucket *user_rates_use(struct user_rates *rates, const char *name)
{
    struct bucket *bucket = user_rates_find(rates, name), *oldest;

    if (!bucket)
        return NULL;
    bucket->used_ms = clock_ms();
    TAILQ_REMOVE(&rates->order, bucket, order);
    TAILQ_INSERT_TAIL(&rates->order, bucket, order);
    while ((oldest = TAILQ_FIRST(&rates->order))->used_ms + rates->forget_ms < bucket->used_ms)
        user_rates_forget(rates, oldest);
    return bucket;
}

bool user_rates_take(struct user_rates *rates, const char *name)
{
    struct bucket *bucket = user_rates_use(rates, name);

    return bucket && allowance_take(&bucket->requests, 1) && allowance_take(&bucket->work, 1);
}

void user_rates_give(struct user_rates *rates, const char *name)
{
    struct bucket *bucket = user_rates_use(rates, name);

    if (bucket)
        bucket->requests.left++;
}

bool user_rates_may_work(struct user_rates *rates, const char *name)
{
    struct bucket *bucket = user_rates_use(rates, name);

    return bucket && allowance_take(&bucket->work, 1);
}

void user_rates_charge(struct user_rates *rates, const char *name, int64_t microseconds)
{
    struct bucket *bucket = user_rates_use(rates, name);

    if (bucket)
        bucket->work.left -= microseconds;
}

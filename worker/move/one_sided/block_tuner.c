// SPDX-License-Identifier: BSD-3-Clause
// The choice of a block size from measured trials. The rate of a candidate is that of its best trial:
// what disturbs a copy only ever makes it slower.
#include "worker/move/one_sided/block_tuner.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKS_LEAST = 3 };

void block_tuner_start(struct block_tuner *tuner, uint32_t usual, size_t room)
{
    memset(tuner, 0, sizeof(*tuner));
    for (uint32_t size = TUNER_SIZE_MIN; size <= TUNER_SIZE_MAX; size *= 2) {
        if (tuner->count && (size_t)size * BLOCKS_LEAST > room)
            break;
        if (size <= usual)
            tuner->usual = tuner->count;
        tuner->sizes[tuner->count++] = size;
    }
    tuner->next = tuner->usual;
    tuner->settled = tuner->count == 1;
}

uint32_t block_tuner_size(const struct block_tuner *tuner)
{
    return tuner->sizes[tuner->next];
}

uint32_t block_tuner_best(const struct block_tuner *tuner)
{
    return tuner->sizes[tuner->settled ? tuner->next : tuner->usual];
}

static unsigned best_of(const struct block_tuner *tuner)
{
    unsigned best = tuner->usual;

    for (unsigned i = 0; i < tuner->count; i++)
        if (tuner->rates[i] > tuner->rates[best])
            best = i;
    return best;
}

static void drop_slow(struct block_tuner *tuner)
{
    uint64_t least = tuner->rates[best_of(tuner)] / 100 * TUNER_DROP_PERCENT;

    for (unsigned i = 0; i < tuner->count; i++)
        tuner->out[i] = i != tuner->usual && tuner->rates[i] < least;
}

static void settle(struct block_tuner *tuner)
{
    unsigned best = best_of(tuner);
    uint64_t usual = tuner->rates[tuner->usual];

    tuner->settled = true;
    tuner->next = tuner->rates[best] > usual + usual / 100 * TUNER_GAIN_PERCENT ? best
                                                                                : tuner->usual;
}

// The usual size comes first in each round, then the others from the smallest on.
static unsigned after(const struct block_tuner *tuner, unsigned at)
{
    at = at == tuner->usual ? 0 : at + 1;
    while (at < tuner->count && (at == tuner->usual || tuner->out[at]))
        at++;
    return at;
}

void block_tuner_take(struct block_tuner *tuner, uint64_t bytes, uint64_t us)
{
    uint64_t rate = bytes * 1000000 / (us ? us : 1);

    if (tuner->settled)
        return;
    if (rate > tuner->rates[tuner->next])
        tuner->rates[tuner->next] = rate;
    tuner->next = after(tuner, tuner->next);
    if (tuner->next < tuner->count)
        return;
    tuner->next = tuner->usual;
    if (tuner->round++ == 0)
        drop_slow(tuner);
    if (tuner->round == TUNER_ROUNDS)
        settle(tuner);
}

void block_tuner_describe(const struct block_tuner *tuner, char *text, size_t room)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned i = 0; i < tuner->count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%uK %llu", i ? " " : "",
                                 tuner->sizes[i] / 1024,
                                 (unsigned long long)(tuner->rates[i] / 1000000));
}

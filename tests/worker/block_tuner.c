// SPDX-License-Identifier: BSD-3-Clause
// The choice of a block size from trials whose times are made up.
#include <string.h>

#include "worker/move/one_sided/block_tuner.h"
#include "tests/tap.h"

enum { KIB = 1024, MIB = 1024 * 1024, ENOUGH = 64 * MIB, TRIALS_MAX = 100 };

// Megabytes per second for each candidate from 64K on.
struct machine {
    unsigned rates[TUNER_CANDIDATES];
    unsigned noise; // percent by which some trials are slower
};

static unsigned trials[TUNER_CANDIDATES];

static unsigned index_of(uint32_t size)
{
    return (unsigned)__builtin_ctz(size / TUNER_SIZE_MIN);
}

// Runs trials until it has settled; their number.
static unsigned run(struct block_tuner *tuner, const struct machine *machine)
{
    unsigned count = 0;

    memset(trials, 0, sizeof(trials));
    for (; !tuner->settled && count < TRIALS_MAX; count++) {
        unsigned at = index_of(block_tuner_size(tuner));
        uint64_t rate = machine->rates[at];
        // Two of three trials of each candidate are disturbed, never the same ones.
        if ((trials[at] + at) % 3)
            rate = rate * (100 - machine->noise) / 100;
        trials[at]++;
        block_tuner_take(tuner, TUNER_TRIAL, TUNER_TRIAL / rate);
    }
    return count;
}

static void choices(void)
{
    static const struct {
        const char *name;
        struct machine machine;
        uint32_t best;
    } cases[] = {
        {"the fastest size is kept", {{500, 700, 800, 900, 1200, 1000, 900}, 0}, 1024 * KIB},
        {"whatever disturbs single trials",
         {{500, 700, 800, 900, 1200, 1000, 900}, 20},
         1024 * KIB},
        {"the smallest, where it is fastest", {{900, 700, 650, 600, 500, 400, 300}, 0}, 64 * KIB},
        {"the largest, where it is fastest", {{300, 400, 500, 600, 700, 800, 900}, 0}, 4096 * KIB},
        {"a gain of two percent is none", {{500, 600, 1020, 1000, 1010, 900, 800}, 0}, 512 * KIB},
        {"nor is one within equal sizes", {{800, 800, 800, 800, 800, 800, 800}, 0}, 512 * KIB},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct block_tuner tuner;
        block_tuner_start(&tuner, 512 * KIB, ENOUGH);
        run(&tuner, &cases[i].machine);
        ok(tuner.settled, "settled");
        is_int(block_tuner_best(&tuner), cases[i].best, "%s", cases[i].name);
        is_int(block_tuner_size(&tuner), cases[i].best, "and used from then on");
    }
}

static void cost(void)
{
    static const struct machine uneven = {{100, 200, 400, 1000, 950, 900, 850}, 0};
    static const struct machine even = {{990, 990, 990, 1000, 990, 990, 990}, 0};
    struct block_tuner tuner;

    block_tuner_start(&tuner, 512 * KIB, ENOUGH);
    is_int(block_tuner_size(&tuner), 512 * KIB, "the usual size is tried first");
    is_int(block_tuner_best(&tuner), 512 * KIB, "and used where nothing is tried");
    run(&tuner, &uneven);
    is_int(trials[0], 1, "a size that is far behind is tried once");
    is_int(trials[3], TUNER_ROUNDS, "the others in every round");
    block_tuner_start(&tuner, 512 * KIB, ENOUGH);
    is_int(run(&tuner, &even), TUNER_ROUNDS * TUNER_CANDIDATES, "each alike where all are alike");
    block_tuner_take(&tuner, TUNER_TRIAL, 1);
    is_int(block_tuner_size(&tuner), 512 * KIB, "later trials change nothing");
}

static void room(void)
{
    struct block_tuner tuner;
    char text[160];

    block_tuner_start(&tuner, 512 * KIB, 8 * MIB);
    is_int(tuner.sizes[tuner.count - 1], 2048 * KIB, "three blocks of the largest size fit");
    block_tuner_start(&tuner, 512 * KIB, 512 * KIB);
    is_int(tuner.count, 2, "in little room there are few");
    block_tuner_start(&tuner, 512 * KIB, 64 * KIB);
    ok(tuner.settled, "and one is no choice");
    is_int(block_tuner_size(&tuner), 64 * KIB, "but a size");
    block_tuner_start(&tuner, 512 * KIB, 512 * KIB);
    block_tuner_take(&tuner, 16 * MIB, 16 * MIB / 100);
    block_tuner_describe(&tuner, text, sizeof(text));
    is_str(text, "64K 0 128K 100", "the figures in words");
    block_tuner_take(&tuner, 16 * MIB, 0);
    ok(tuner.rates[0] > 0, "no time at all is a short one");
}

int main(void)
{
    choices();
    cost();
    room();
    return done();
}

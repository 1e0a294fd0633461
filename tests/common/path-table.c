// SPDX-License-Identifier: BSD-3-Clause
// Choosing among paths by times that are made up: that the best one stays, what trials cost
// meanwhile, and that a path that cannot be used is not taken.
#include <errno.h>
#include <string.h>

#include "common/base/path_table.h"
#include "tests/tap.h"

enum {
    INLINE_STAGED = PATH_BIT(PATH_INLINE) | PATH_BIT(PATH_STAGED),
    ALL = PATH_BIT(PATH_DIRECT + 1) - 1
};

static struct path_table table;
static uint32_t randomness = 1;

// A number below LIMIT, the same ones in each run.
static uint32_t some(uint32_t limit)
{
    randomness = randomness * 1664525 + 1013904223;
    return (randomness >> 8) % limit;
}

// The cost of a copy of 2^SIZE bytes by each path: a start, and a time for each byte.
static const struct path_costs {
    const char *name;
    struct {
        uint32_t start_ns, ns_per_kib;
    } paths[PATHS];
    unsigned noise; // percent that a copy may take longer
} machines[] = {
    {"inline wins small ones", {{2000, 900}, {9000, 90}, {7000, 60}, {12000, 80}, {15000, 40}}, 10},
    {"staged wins all", {{9000, 900}, {3000, 90}, {7000, 300}, {12000, 100}, {15000, 95}}, 30},
    {"inline wins all", {{4000, 100}, {22000, 600}, {80000, 200}, {70000, 300}, {60000, 400}}, 0},
    {"all alike", {{5000, 100}, {5000, 100}, {5000, 100}, {5000, 100}, {5000, 100}}, 50},
    {"the usual one is six times slower",
     {{30000, 600}, {5000, 100}, {5000, 101}, {5000, 99}, {6000, 70}},
     5},
};

static uint64_t time_of(const struct path_costs *machine, unsigned path, unsigned size)
{
    return machine->paths[path].start_ns +
           (((uint64_t)machine->paths[path].ns_per_kib << size) >> 10);
}

static uint64_t best_time(const struct path_costs *machine, unsigned usable, unsigned size)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < PATHS; i++)
        if (usable >> i & 1 && time_of(machine, i, size) < best)
            best = time_of(machine, i, size);
    return best;
}

// One copy; returns its time.
static uint64_t copy(const struct path_costs *machine, struct path_place place, unsigned usable)
{
    int settled = path_settled(&table, place, usable);
    enum path path = settled >= 0 ? (enum path)settled
                                  : path_choose(&table, place, usable, PATH_INLINE, true);
    uint64_t ns = time_of(machine, path, place.size);

    if (!(usable >> path & 1))
        bail("a path that cannot be used was chosen");
    ns += ns * some(machine->noise + 1) / 100;
    path_take(&table, place, path, ns);
    return ns;
}

static void first_hundred(const struct path_costs *machine, unsigned usable)
{
    uint64_t taken = 0, least = 0;

    memset(&table, 0, sizeof(table));
    for (unsigned i = 0; i < 100; i++) {
        struct path_place place = {PATH_TO, PATH_LATENCY, 6 + i % 4 * 3};
        uint64_t ns = copy(machine, place, usable);
        // Against the same disturbance, which is not the choice's.
        taken += ns * 100 / (100 + machine->noise / 2);
        least += best_time(machine, usable, place.size);
    }
    ok(taken * 10 <= least * 13, "%s: the first hundred take at most 1.3 times the least (%.2f)",
       machine->name, (double)taken / (double)least);
}

static void everywhere(const struct path_costs *machine, unsigned usable)
{
    unsigned open = 0, wrong = 0, pattern, size;

    memset(&table, 0, sizeof(table));
    for (unsigned round = 0; round < 2000; round++)
        for (size = 0; size < PATH_SIZES; size++)
            for (pattern = 0; pattern < PATH_PATTERNS; pattern++)
                copy(machine, (struct path_place){PATH_FROM, (enum path_pattern)pattern, size},
                     usable);
    for (size = 0; size < PATH_SIZES; size++)
        for (pattern = 0; pattern < PATH_PATTERNS; pattern++) {
            struct path_place place = {PATH_FROM, (enum path_pattern)pattern, size};
            int path = path_settled(&table, place, usable);
            open += path < 0;
            wrong += path >= 0 && time_of(machine, (unsigned)path, size) * 100 >
                                      best_time(machine, usable, size) * (112 + machine->noise);
        }
    is_int(open, 0, "%s: every size and pattern settles", machine->name);
    is_int(wrong, 0, "%s: at one that is no more than a tenth behind the best", machine->name);
}

static void never_unusable(void)
{
    memset(&table, 0, sizeof(table));
    for (unsigned i = 0; i < 20000; i++) {
        unsigned usable = 1 + some(ALL);
        struct path_place place = {(enum path_use)some(PATH_USES),
                                   (enum path_pattern)some(PATH_PATTERNS), some(PATH_SIZES)};
        copy(&machines[some(sizeof(machines) / sizeof(machines[0]))], place, usable);
    }
    pass("whatever can be used changes, nothing else is chosen");
}

static const struct path_place here = {PATH_TO, PATH_LATENCY, 12};

static int copies_until_settled(const uint32_t ns[PATHS], enum path usual)
{
    int count = 0;

    for (; path_settled(&table, here, INLINE_STAGED) < 0 && count < 1000; count++) {
        enum path path = path_choose(&table, here, INLINE_STAGED, usual, true);
        path_take(&table, here, path, ns[path]);
    }
    return count;
}

static void leaving(void)
{
    memset(&table, 0, sizeof(table));
    is_int(path_choose(&table, here, INLINE_STAGED, PATH_STAGED, true), PATH_STAGED,
           "the usual path comes first");
    copies_until_settled((const uint32_t[PATHS]){95, 100}, PATH_STAGED);
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_STAGED, "a twentieth is no gain");
    is_int(path_settled(&table, here, ALL), -1, "more to choose from is to be tried");
    memset(&table, 0, sizeof(table));
    copies_until_settled((const uint32_t[PATHS]){80, 100}, PATH_STAGED);
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_INLINE, "a fifth is one");
}

static void reopening(void)
{
    bool changed = false;

    memset(&table, 0, sizeof(table));
    copies_until_settled((const uint32_t[PATHS]){100, 300}, PATH_INLINE);
    for (unsigned i = 0; i < 1000; i++)
        changed |= path_take(&table, here, PATH_INLINE, i % 3 ? 250 : 190);
    ok(!changed, "slow copies among others open nothing");
    for (unsigned i = 0; i < PATH_SLOW; i++)
        changed |= path_take(&table, here, PATH_INLINE, 401);
    ok(changed, "times that have doubled are told");
    is_int(path_settled(&table, here, INLINE_STAGED), -1, "and open the choice");
    is_int(path_choose(&table, here, INLINE_STAGED, PATH_STAGED, true), PATH_INLINE,
           "which begins with what was chosen");
    copies_until_settled((const uint32_t[PATHS]){400, 300}, PATH_INLINE);
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_STAGED, "the better one stays");
}

// Trials that were disturbed have shown a good path as a bad one.
static void regretting(void)
{
    static const uint32_t misleading[PATHS] = {60, 45};
    bool changed = false;

    memset(&table, 0, sizeof(table));
    copies_until_settled(misleading, PATH_INLINE);
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_STAGED, "the wrong path is chosen");
    for (unsigned i = 0; i < 1000; i++)
        changed |= path_take(&table, here, PATH_STAGED, i % PATH_SLOW ? 65 : 59);
    ok(!changed, "what the other path took as well opens nothing");
    for (unsigned i = 0; i < PATH_SLOW; i++)
        changed |= path_take(&table, here, PATH_STAGED, 70);
    ok(changed, "times above the other path's open the choice");
    copies_until_settled((const uint32_t[PATHS]){50, 70}, PATH_STAGED);
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_INLINE, "and the right one is found");
}

static void learning(void)
{
    struct path_row row, wrong;

    memset(&table, 0, sizeof(table));
    ok(!path_row_of(&table, here, &row), "an open choice has no row");
    copies_until_settled((const uint32_t[PATHS]){300, 100}, PATH_INLINE);
    ok(path_row_of(&table, here, &row), "one that is settled has");
    memset(&table, 0, sizeof(table));
    ok(path_learn(&table, &row), "another session learns it");
    is_int(path_choose(&table, here, INLINE_STAGED, PATH_INLINE, true), PATH_STAGED,
           "and takes that path at once");
    is_int(path_settled(&table, here, INLINE_STAGED), PATH_STAGED, "from then on");
    is_int(path_choose(&table, here, PATH_BIT(PATH_INLINE), PATH_INLINE, true), PATH_INLINE,
           "unless it cannot be used here");
    is_int(path_choose(&table, here, ALL, PATH_INLINE, true), PATH_STAGED, "what is new is tried");
    is_int(path_settled(&table, here, ALL), -1, "before it settles again");
    wrong = row, wrong.use = PATH_USES;
    ok(!path_learn(&table, &wrong), "no other use");
    wrong = row, wrong.size = PATH_SIZES;
    ok(!path_learn(&table, &wrong), "no other size");
    wrong = row, wrong.pattern = PATH_PATTERNS;
    ok(!path_learn(&table, &wrong), "no other pattern");
    wrong = row, wrong.chosen = PATH_DIRECT;
    ok(!path_learn(&table, &wrong), "no choice that nobody has measured");
    wrong = row, wrong.chosen = PATHS;
    ok(!path_learn(&table, &wrong), "no other path");
}

// Tests paths whose bit is above the eighth.
static void many_paths(void)
{
    const unsigned usable = PATH_BIT(PATH_STAGED) | PATH_BIT(PATH_DIRECT) |
                            PATH_BIT(PATH_DIRECT_SOURCE) | PATH_BIT(PATH_DIRECT_TARGET);
    const struct path_place place = {PATH_FROM_BOX, PATH_LATENCY, 18};
    struct path_row row;

    memset(&table, 0, sizeof(table));
    for (unsigned i = 0; i < 200; i++) {
        enum path path = path_choose(&table, place, usable, PATH_DIRECT, true);
        path_take(&table, place, path, path == PATH_DIRECT_TARGET ? 100 : 150 + path);
    }
    is_int(path_settled(&table, place, usable), PATH_DIRECT_TARGET,
           "the last path may be the best");
    ok(path_row_of(&table, place, &row) && row.ns[PATH_DIRECT_TARGET] == 100, "and has a time");
    is_int(path_settled(&table, place, usable & ~PATH_BIT(PATH_DIRECT_SOURCE)), -1,
           "another choice is open");
}

static void words(void)
{
    is_int(path_parse("direct-target"), PATH_BIT(PATH_DIRECT_TARGET), "the last path");
    is_int(path_parse("auto"), 0, "auto");
    is_int(path_parse("inline"), PATH_BIT(PATH_INLINE), "one path");
    is_int(path_parse(PATH_WORDS), PATH_BIT(PATHS) - 1, "all that there are");
    is_int(path_parse("staged, direct"), PATH_BIT(PATH_STAGED) | PATH_BIT(PATH_DIRECT), "two");
    is_int(path_parse("stage"), -EINVAL, "not a beginning of a word");
    is_int(path_parse("staged,"), -EINVAL, "nor nothing behind a comma");
    is_int(path_parse(""), -EINVAL, "nor nothing");
    is_int(path_size_class(0), 0, "sizes: none");
    is_int(path_size_class(1), 0, "one byte");
    is_int(path_size_class(65536), 16, "a power of two");
    is_int(path_size_class(65537), 17, "one byte more");
    is_int(path_size_class(SIZE_MAX), PATH_SIZES - 1, "all there is");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        first_hundred(&machines[i], INLINE_STAGED);
        everywhere(&machines[i], INLINE_STAGED);
        everywhere(&machines[i], ALL);
    }
    never_unusable();
    leaving();
    reopening();
    regretting();
    learning();
    many_paths();
    words();
    return done();
}

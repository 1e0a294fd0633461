// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/path_table.h"

#include <errno.h>
#include <string.h>

const char *const path_names[PATHS] = {[PATH_INLINE] = "inline",
                                       [PATH_STAGED] = "staged",
                                       [PATH_MAPPED] = "mapped",
                                       [PATH_ONE_SIDED] = "one-sided",
                                       [PATH_DIRECT] = "direct",
                                       [PATH_SMALL_BLOCKS] = "small-blocks",
                                       [PATH_LARGE_BLOCKS] = "large-blocks",
                                       [PATH_DIRECT_SOURCE] = "direct-source",
                                       [PATH_DIRECT_TARGET] = "direct-target"};
const char *const path_use_names[PATH_USES] = {[PATH_TO] = "to",
                                               [PATH_FROM] = "from",
                                               [PATH_TO_LOCKED] = "to, page-locked",
                                               [PATH_FROM_LOCKED] = "from, page-locked",
                                               [PATH_MOVE_TO] = "to, by device",
                                               [PATH_MOVE_FROM] = "from, by device",
                                               [PATH_TO_BOX] = "to another box",
                                               [PATH_FROM_BOX] = "from another box"};
const char *const path_pattern_names[PATH_PATTERNS] = {
    [PATH_LATENCY] = "latency", [PATH_BANDWIDTH] = "bandwidth"};

static bool path_table_has(unsigned paths, unsigned path)
{
    return paths >> path & 1;
}

// ---- results of the trials ----

// A disturbance makes a copy longer, so the shortest of many is the figure; but a program that
// waits for each copy has the usual time.
static uint32_t figure(const struct path_cell *cell, unsigned path, enum path_pattern pattern)
{
    uint32_t sorted[PATH_TRIES];
    unsigned count = cell->tries[path];

    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;
        for (; at && sorted[at - 1] > cell->samples[path][i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = cell->samples[path][i];
    }
    return count ? sorted[pattern == PATH_LATENCY ? (count - 1) / 2 : 0] : 0;
}

// The best of PATHS that have been tried, PATHS where none has.
static unsigned best_of(const struct path_cell *cell, unsigned paths, enum path_pattern pattern)
{
    unsigned best = PATHS;

    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(paths, i) && cell->tries[i] &&
            (best == PATHS || figure(cell, i, pattern) < figure(cell, best, pattern)))
            best = i;
    return best;
}

// Compares the shortest times, because a disturbed copy is no reason to drop a path.
static bool is_far_behind(const struct path_cell *cell, unsigned path)
{
    unsigned best = best_of(cell, cell->usable, PATH_BANDWIDTH);

    return best < PATHS && cell->tries[path] &&
           figure(cell, path, PATH_BANDWIDTH) / PATH_FAR_BEHIND >
               figure(cell, best, PATH_BANDWIDTH);
}

static void drop_slow(struct path_cell *cell, enum path_pattern pattern)
{
    unsigned best = best_of(cell, cell->usable, pattern);

    for (unsigned i = 0; i < PATHS; i++)
        if (i != best && cell->tries[i] >= PATH_TRIES_LEAST &&
            cell->tries[best] >= PATH_TRIES_LEAST && is_far_behind(cell, i))
            cell->out |= (uint16_t)PATH_BIT(i);
}

// ---- settling, and opening again ----

static void decide(struct path_cell *cell)
{
    bool stays = cell->settled && path_table_has(cell->usable, cell->chosen);
    unsigned decided = stays ? (1u + cell->chosen) | (unsigned)cell->usable << 8 : 0;

    atomic_store_explicit(&cell->decided, decided, memory_order_relaxed);
}

static bool all_tried(const struct path_cell *cell)
{
    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(cell->usable & ~(unsigned)cell->out, i) && cell->tries[i] < PATH_TRIES)
            return false;
    return true;
}

static void path_table_settle(struct path_cell *cell, enum path_pattern pattern)
{
    unsigned best = best_of(cell, cell->usable, pattern);
    uint64_t usual = figure(cell, cell->usual, pattern), least = figure(cell, best, pattern);

    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(cell->usable, i))
            cell->ns[i] = figure(cell, i, pattern);
    bool stays = path_table_has(cell->usable & ~(unsigned)cell->out, cell->usual) &&
                 least * 100 >= usual * (100 - PATH_GAIN_PERCENT);
    cell->chosen = stays ? cell->usual : (uint8_t)best;
    cell->known = cell->settled = true;
    cell->slow = 0;
    decide(cell);
}

// Trials that were made stay valid.
static void unsettle(struct path_cell *cell)
{
    cell->settled = false;
    decide(cell);
}

static void reopen(struct path_cell *cell)
{
    memset(cell->tries, 0, sizeof(cell->tries));
    cell->out = 0;
    unsettle(cell);
}

// ---- choosing ----

static bool has_compared(const struct path_cell *cell, unsigned usable)
{
    unsigned tried = 0;

    for (unsigned i = 0; i < PATHS; i++)
        tried += path_table_has(usable, i) && cell->tries[i];
    return tried > 1;
}

// Returns the cell of the same use and pattern with the nearest size, at most MOST classes away,
// where several of USABLE have been tried; NULL: none.
static const struct path_cell *compared_near(const struct path_table *table,
                                             struct path_place place, unsigned usable,
                                             unsigned most)
{
    const struct path_cell *cells = table->cells[place.use][place.pattern];

    for (unsigned away = 0; away <= most; away++) {
        if (place.size >= away && has_compared(&cells[place.size - away], usable))
            return &cells[place.size - away];
        if (place.size + away < PATH_SIZES && has_compared(&cells[place.size + away], usable))
            return &cells[place.size + away];
    }
    return NULL;
}

// Returns the path for a cell without any trial.
static enum path usual_of(const struct path_table *table, struct path_place place, unsigned usable,
                          enum path usual)
{
    const struct path_cell *cell = &table->cells[place.use][place.pattern][place.size];
    unsigned best = PATHS;

    if (cell->known && path_table_has(usable, cell->chosen))
        return (enum path)cell->chosen;
    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(usable, i) && cell->ns[i] &&
            (best == PATHS || cell->ns[i] < cell->ns[best]))
            best = i;
    const struct path_cell *near = compared_near(table, place, usable, PATH_SIZES);
    if (best == PATHS && near)
        best = best_of(near, usable, place.pattern);
    if (best < PATHS)
        return (enum path)best;
    return path_table_has(usable, usual) ? usual : (enum path)__builtin_ctz(usable);
}

static bool all_known(const struct path_cell *cell, unsigned usable)
{
    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(usable, i) && !cell->ns[i])
            return false;
    return true;
}

static enum path next_trial(const struct path_cell *cell)
{
    unsigned paths = cell->usable & ~(unsigned)cell->out, next = cell->usual;

    for (unsigned i = 0; i < PATHS; i++)
        if (path_table_has(paths, i) &&
            (!path_table_has(paths, next) || cell->tries[i] < cell->tries[next]))
            next = i;
    return (enum path)next;
}

// A trial is delayed until the cost of the earlier trials is a small part of all copies. The first
// trial in a cell is delayed only if the path was much slower in cells of similar size.
static bool may_try(const struct path_table *table, struct path_place place, enum path path)
{
    const struct path_cell *cell = &table->cells[place.use][place.pattern][place.size];

    if (table->cost <= table->copies * PATH_COST_PERCENT)
        return true;
    const struct path_cell *near = compared_near(table, place, cell->usable, PATH_ALIKE);
    return !cell->tries[path] && (!near || !is_far_behind(near, path));
}

enum path path_choose(struct path_table *table, struct path_place place, unsigned usable,
                      enum path usual, bool trial)
{
    struct path_cell *cell = path_cell_at(table, place);

    if (cell->settled && all_known(cell, usable)) {
        cell->usable = (uint16_t)usable;
        decide(cell);
        return usual_of(table, place, usable, usual);
    }
    // Copies that can take fewer paths may have settled it.
    if (cell->settled)
        unsettle(cell);
    cell->usable = (uint16_t)usable;
    if (!cell->tries[cell->usual] || !path_table_has(usable, cell->usual))
        cell->usual = (uint8_t)usual_of(table, place, usable, usual);
    enum path next = next_trial(cell);
    const struct path_cell *near = compared_near(table, place, usable, PATH_SIZES);
    unsigned best = near ? best_of(near, usable, place.pattern) : cell->usual;
    return next == best || (trial && may_try(table, place, next)) ? next : (enum path)best;
}

// Returns the longest time that the chosen path may take before all paths are tried again: twice
// its measured time, or little more than the measured time of another path if that is less, since
// the trials were disturbed then. For PATH_BANDWIDTH only the first limit applies: the cell keeps
// the shortest time there, and usual copies take longer.
static uint64_t longest(const struct path_cell *cell, enum path_pattern pattern)
{
    uint64_t own = cell->ns[cell->chosen], longest = 2 * own;

    for (unsigned i = 0; i < PATHS && pattern == PATH_LATENCY; i++) {
        uint64_t other = (uint64_t)cell->ns[i] * (100 + PATH_GAIN_PERCENT) / 100;
        if (i == cell->chosen || !path_table_has(cell->usable, i) || !other)
            continue;
        if (other < own + own / 4)
            other = own + own / 4;
        longest = other < longest ? other : longest;
    }
    return longest;
}

static bool take_settled(struct path_cell *cell, enum path_pattern pattern, enum path path,
                         uint64_t ns)
{
    if (path != cell->chosen)
        return false;
    cell->slow = ns > longest(cell, pattern) ? (uint8_t)(cell->slow + 1) : 0;
    if (cell->slow < PATH_SLOW)
        return false;
    reopen(cell);
    return true;
}

static void path_table_keep_sample(struct path_cell *cell, enum path path, uint32_t ns)
{
    uint32_t *samples = cell->samples[path];

    if (cell->tries[path] == PATH_TRIES) // the best one, while trials of others are put off
        memmove(samples, samples + 1, (PATH_TRIES - 1) * sizeof(*samples));
    else
        cell->tries[path]++;
    samples[cell->tries[path] - 1] = ns;
}

// Adds the excess of COUNT copies of NS each over the best, in percent of it. A copy that takes
// very much longer was disturbed.
static void charge_trial(struct path_table *table, uint64_t ns, uint64_t least, unsigned count)
{
    uint64_t more = ns > least ? (ns - least) * 100 / least : 0;

    table->cost += count * (more < PATH_DISTURBED_PERCENT ? more : PATH_DISTURBED_PERCENT);
}

// Accounts for the cost of a trial, also of the previous best path that earlier copies took.
static void account(struct path_table *table, const struct path_cell *cell,
                    enum path_pattern pattern, unsigned best_before, enum path path, uint64_t ns)
{
    unsigned best = best_of(cell, PATH_BIT(PATHS) - 1, pattern);
    uint64_t least = figure(cell, best, pattern);

    if (path != best)
        charge_trial(table, ns, least, 1);
    else if (best_before != best && best_before < PATHS)
        charge_trial(table, figure(cell, best_before, pattern), least, cell->tries[best_before]);
}

bool path_take(struct path_table *table, struct path_place place, enum path path, uint64_t ns)
{
    struct path_cell *cell = path_cell_at(table, place);
    uint32_t taken = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;

    taken = taken ? taken : 1;
    table->copies++;
    if (cell->settled)
        return take_settled(cell, place.pattern, path, taken);
    unsigned best_before = best_of(cell, PATH_BIT(PATHS) - 1, place.pattern);
    path_table_keep_sample(cell, path, taken);
    account(table, cell, place.pattern, best_before, path, taken);
    drop_slow(cell, place.pattern);
    if (!all_tried(cell))
        return false;
    path_table_settle(cell, place.pattern);
    return true;
}

// ---- rows ----

bool path_row_of(const struct path_table *table, struct path_place place, struct path_row *row)
{
    const struct path_cell *cell = &table->cells[place.use][place.pattern][place.size];

    if (!cell->settled)
        return false;
    *row = (struct path_row){.use = (uint8_t)place.use,
                             .pattern = (uint8_t)place.pattern,
                             .size = (uint8_t)place.size,
                             .chosen = cell->chosen};
    memcpy(row->ns, cell->ns, sizeof(row->ns));
    return true;
}

bool path_row_is_valid(const struct path_row *row)
{
    return row->use < PATH_USES && row->pattern < PATH_PATTERNS && row->size < PATH_SIZES &&
           row->chosen < PATHS && row->ns[row->chosen];
}

bool path_learn(struct path_table *table, const struct path_row *row)
{
    if (!path_row_is_valid(row))
        return false;
    struct path_cell *cell = &table->cells[row->use][row->pattern][row->size];
    memcpy(cell->ns, row->ns, sizeof(cell->ns));
    cell->chosen = row->chosen;
    cell->known = cell->settled = true;
    return true;
}

// ---- words ----

static int path_of_word(const char *word, size_t length)
{
    for (unsigned i = 0; i < PATHS; i++)
        if (strlen(path_names[i]) == length && !memcmp(path_names[i], word, length))
            return (int)i;
    return -EINVAL;
}

int path_parse(const char *text)
{
    int paths = 0;

    if (!strcmp(text, "auto"))
        return 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        int path = path_of_word(text, length);
        if (path < 0)
            return path;
        paths |= (int)PATH_BIT(path);
        if (!text[length])
            return paths;
        text += length + 1;
        text += strspn(text, " ");
    }
}

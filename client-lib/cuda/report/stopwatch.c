// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/stopwatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdio.h>
#include <string.h>

#include "common/base/descriptor.h"

bool stopwatch_counts;
__thread struct stopwatch stopwatch_mine;

// Limits of the time between two comparisons of counter and clock. A shorter time gives no precise
// rate, and over a longer one the rate changes. Each rate is used for twice the time that it was
// measured over.
enum { SHORTEST_NS = 1000000, LONGEST_NS = 100000000 };
enum { CLOSE_TICKS = 20000 }; // some microseconds

// Reads the counter and the clock at one moment: the closest of a few pairs, since the thread may
// be interrupted. Returns how close they are.
static uint64_t look_at_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t closest = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        uint64_t before = stopwatch_ticks(), now = clock_ns(), after = stopwatch_ticks();
        if (after - before >= closest)
            continue;
        closest = after - before;
        *ticks = before + closest / 2;
        *ns = now;
    }
    return closest;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t stopwatch_compare(struct stopwatch *mine)
{
    uint64_t ticks = 0, ns = 0, least = mine->ns, follow;
    bool close = look_at_both(&ticks, &ns) < CLOSE_TICKS;

    // Until there is a rate, the line begins at the first comparison.
    if (!mine->ticks && close) {
        *mine = (struct stopwatch){.ticks = ticks, .ns = ns};
        return ns;
    }
    if (mine->rate)
        least += (uint64_t)(((unsigned __int128)mine->span * mine->rate) >> 32);
    if (!close || ns - mine->ns < SHORTEST_NS || ticks <= mine->ticks)
        return most(ns, least);
    mine->rate = (uint64_t)(((unsigned __int128)(ns - mine->ns) << 32) / (ticks - mine->ticks));
    follow = 2 * (ns - mine->ns) < LONGEST_NS ? 2 * (ns - mine->ns) : LONGEST_NS;
    mine->span = (uint64_t)(((unsigned __int128)follow << 32) / most(mine->rate, 1));
    mine->ticks = ticks;
    mine->ns = most(ns, least);
    return mine->ns;
}

#if defined(__x86_64__)
// Returns true if the processor reports that its counter has a constant rate.
static bool is_even(void)
{
    unsigned int a, b, c, d = 0;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

// Returns true if the kernel uses another clock, because it has found the processors' counters to
// differ.
static bool is_distrusted(void)
{
    static const char *const instead[] = {"hpet\n", "acpi_pm\n", "jiffies\n"};
    char name[16] = "";
    FILE *file =
        descriptor_open_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                             "r");
    bool found = false;

    if (!file)
        return false;
    if (fgets(name, sizeof(name), file))
        for (size_t i = 0; i < sizeof(instead) / sizeof(*instead); i++)
            found |= !strcmp(name, instead[i]);
    fclose(file);
    return found;
}

__attribute__((constructor)) static void find_counter(void)
{
    stopwatch_counts = is_even() && !is_distrusted();
}
#endif

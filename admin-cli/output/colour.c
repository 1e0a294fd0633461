// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/colour.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define RED "\033[31m"

static const struct {
    const char *state, *colour;
} colours[] = {
    {"ok", GREEN},         {"up", GREEN},         {"granted", GREEN},  {"registered", GREEN},
    {"serving", GREEN},    {"queued", YELLOW},    {"ending", YELLOW},  {"draining", YELLOW},
    {"drained", YELLOW},   {"settling", YELLOW},  {"leaving", YELLOW}, {"starting", YELLOW},
    {"suspended", YELLOW}, {"returning", YELLOW}, {"away", RED},       {"silent", RED},
    {"missing", RED},      {"lost", RED},         {"problem", RED},    {"box-away", RED},
    {"no-key", RED},
};

// See no-color.org.
static bool colour_is_wanted(void)
{
    static int wanted = -1; // asked once: tables have thousands of states
    const char *no, *terminal;

    if (wanted < 0) {
        no = getenv("NO_COLOR");
        terminal = getenv("TERM");
        wanted = isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
    }
    return wanted;
}

const char *colour_of(const char *state)
{
    // The health of a GPU is its last fault.
    const char *colour = strncmp(state, "Xid ", 4) != 0 ? NULL : RED;

    for (size_t i = 0; !colour && i < sizeof(colours) / sizeof(colours[0]); i++)
        if (!strcmp(colours[i].state, state))
            colour = colours[i].colour;
    return colour && colour_is_wanted() ? colour : NULL;
}

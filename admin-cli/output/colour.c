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
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

const char *colour_of(const char *state)
{
    if (!colour_is_wanted())
        return NULL;
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (!strcmp(colours[i].state, state))
            return colours[i].colour;
    // The health of a GPU is its last fault.
    return strncmp(state, "Xid ", 4) != 0 ? NULL : RED;
}

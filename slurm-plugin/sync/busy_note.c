// SPDX-License-Identifier: GPL-2.0-or-later
// See busy_note.h.
#include "slurm-plugin/sync/busy_note.h"

#include <stdio.h>
#include <string.h>

#define BUSY " busy="

bool busy_note(const char *comment, double seconds, double held, char noted[static BUSY_NOTE_MAX])
{
    const char *before;
    int size;

    // slurmdbd puts the text into its SQL as it is.
    if (!comment || strncmp(comment, "rgpu: ", 6) || strpbrk(comment, "'\"\\"))
        return false;
    before = strstr(comment, BUSY);
    size = before ? (int)(before - comment) : (int)strlen(comment);
    if (size > BUSY_NOTE_MAX - 64)
        return false;
    size = snprintf(noted, BUSY_NOTE_MAX, "%.*s" BUSY "%.1fs", size, comment, seconds);
    // Leases begin and end with whole seconds.
    if (held > 0)
        snprintf(noted + size, BUSY_NOTE_MAX - (size_t)size, " efficiency=%.0f%%",
                 seconds < held ? 100 * seconds / held : 100.0);
    return strcmp(noted, comment) != 0;
}

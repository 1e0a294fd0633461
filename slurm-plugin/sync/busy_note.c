// SPDX-License-Identifier: GPL-2.0-or-later
// See busy_note.h.
#include "slurm-plugin/sync/busy_note.h"

#include <stdio.h>
#include <string.h>

#define BUSY " busy="

bool busy_note(const char *comment, const struct busy_use *use, char noted[static BUSY_NOTE_MAX])
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
    size = snprintf(noted, BUSY_NOTE_MAX, "%.*s" BUSY "%.1fs", size, comment, use->seconds);
    // Leases begin and end with whole seconds.
    if (use->held > 0)
        size += snprintf(noted + size, BUSY_NOTE_MAX - (size_t)size, " efficiency=%.0f%%",
                         use->seconds < use->held ? 100 * use->seconds / use->held : 100.0);
    if (use->joules >= 1)
        snprintf(noted + size, BUSY_NOTE_MAX - (size_t)size, " energy=%.0fJ", use->joules);
    return strcmp(noted, comment) != 0;
}

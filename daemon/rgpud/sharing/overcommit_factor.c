// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/sharing/overcommit_factor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "daemon/rgpud/workers/mps_settings.h"
#include "daemon/rgpud/suspension/suspension.h"

enum { FACTOR_MAX = 100 };

// Reads one entry: "2.0", or "0:2.0" for a GPU of that number. Returns false if it is malformed.
static bool read_factor(const char *entry, long *ordinal, unsigned *percent)
{
    const char *colon = strchr(entry, ':'), *word = colon ? colon + 1 : entry;
    char *end = NULL;

    *ordinal = colon ? strtol(entry, &end, 10) : -1;
    if (colon && (end != colon || end == entry || *ordinal < 0 || *ordinal >= BOX_DEVICES_MAX))
        return false;
    if (!*word || strspn(word, "0123456789.") != strlen(word))
        return false;
    double factor = strtod(word, &end);
    *percent = factor >= 1 && factor <= FACTOR_MAX ? (unsigned)(factor * 100 + 0.5) : 0;
    return !*end && *percent;
}

// An entry for one GPU overrides an entry for all.
unsigned overcommit_percent(const struct box_settings *settings, uint32_t ordinal)
{
    unsigned result = 100, percent;
    bool own = false;
    long number;

    for (char *const *entry = settings->overcommit; *entry; entry++) {
        if (!read_factor(*entry, &number, &percent) || (number >= 0 && number != (long)ordinal) ||
            (own && number < 0))
            continue;
        own |= number >= 0;
        result = percent;
    }
    return result;
}

uint64_t overcommit_reserve(const struct box *box, const struct box_device *device)
{
    return overcommit_percent(&box->settings, device->ordinal) > 100 ? SUSPENSION_SPARE_BYTES : 0;
}

int overcommit_settings_check(const struct box *box)
{
    const struct box_settings *settings = &box->settings;
    unsigned percent;
    long number;

    for (char *const *entry = settings->overcommit; *entry; entry++)
        if (!read_factor(*entry, &number, &percent)) {
            config_complain(settings_table, "workers", "overcommit",
                            "overcommit=%s is not understood; use 1.0 to %d.0, or 0:2.0", *entry,
                            FACTOR_MAX);
            return -EINVAL;
        }
    for (uint32_t i = 0; i < BOX_DEVICES_MAX; i++)
        if (overcommit_percent(settings, i) > 100 && mps_is_set(settings, i)) {
            config_complain(
                settings_table, "workers", "overcommit",
                "a GPU with sharing=mps cannot be overcommitted: clients of MPS cannot be "
                "suspended");
            return -EINVAL;
        }
    return 0;
}

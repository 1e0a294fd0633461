// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/mps_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

// Reads one entry: "mps", or "0:mps" for a GPU of that number. Returns false if it is malformed.
static bool read_entry(const char *entry, long *ordinal, bool *mps)
{
    const char *colon = strchr(entry, ':'), *word = colon ? colon + 1 : entry;
    char *end = NULL;

    *ordinal = colon ? strtol(entry, &end, 10) : -1;
    if (colon && (end != colon || end == entry || *ordinal < 0 || *ordinal >= BOX_DEVICES_MAX))
        return false;
    *mps = !strcmp(word, "mps");
    return *mps || !strcmp(word, "time");
}

// An entry for one GPU overrides an entry for all.
bool mps_is_set(const struct box_settings *settings, uint32_t ordinal)
{
    bool result = false, own = false, mps;
    long number;

    for (char *const *entry = settings->sharing; *entry; entry++) {
        if (!read_entry(*entry, &number, &mps) || (number >= 0 && number != (long)ordinal) ||
            (own && number < 0))
            continue;
        own |= number >= 0;
        result = mps;
    }
    return result;
}

static bool any_is_set(const struct box_settings *settings)
{
    for (uint32_t i = 0; i < BOX_DEVICES_MAX; i++)
        if (mps_is_set(settings, i))
            return true;
    return false;
}

int mps_settings_check(const struct box *box)
{
    const struct box_settings *settings = &box->settings;
    bool mps;
    long number;
    int err = 0;

    for (char *const *entry = settings->sharing; *entry; entry++)
        if (!read_entry(*entry, &number, &mps)) {
            config_complain(settings_table, "workers", "sharing",
                            "sharing=%s is not understood; use time, mps or 0:mps", *entry);
            err = -EINVAL;
        }
    if (!err && any_is_set(settings) &&
        (!settings->mps_directory || *settings->mps_directory != '/' ||
         strlen(settings->mps_directory) > 80)) {
        config_complain(settings_table, "workers", "mps_directory",
                        "mps_directory=%s is not an absolute path of at most 80 bytes",
                        settings->mps_directory ? settings->mps_directory : "");
        err = -EINVAL;
    }
    return err;
}

bool mps_has_user(const struct box_settings *settings, const struct worker_users *users, uid_t user)
{
    for (uint32_t i = 0; i < BOX_DEVICES_MAX; i++)
        if (mps_is_set(settings, i) && user == programs_mps_user(users, i))
            return true;
    return false;
}

uid_t mps_user(const struct box *box, uint32_t ordinal)
{
    return programs_mps_user(&box->users, ordinal);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/offered_transports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

#define NAME(name) #name,
static const char *const known[] = {CONTROL_TRANSPORTS(NAME)};
enum { KNOWN = sizeof(known) / sizeof(*known) };
_Static_assert((int)KNOWN <= (int)TRANSPORTS_MAX, "a message has room for all transports");

static bool offered_transports_is_allowed(const struct box_settings *settings,
                                          const char *transport)
{
    for (char **name = settings->transports; *name; name++)
        if (!strcmp(*name, transport) || !strcmp(*name, "all"))
            return true;
    return false;
}

uint32_t transports_allowed(const struct box_settings *settings,
                            struct control_transport_name out[TRANSPORTS_MAX])
{
    uint32_t count = 0;

    for (int i = 0; i < KNOWN; i++)
        if (offered_transports_is_allowed(settings, known[i]))
            snprintf(out[count++].name, sizeof(out->name), "%s", known[i]);
    return count;
}

bool transport_is_known(const char *name)
{
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(name, known[i]))
            return true;
    return false;
}

int transports_check(const struct box_settings *settings)
{
    int err = 0;

    for (char **name = settings->transports; *name; name++) {
        if (transport_is_known(*name) || !strcmp(*name, "all"))
            continue;
        config_complain(settings_table, "box", "transports",
                        "transports: %s is not one of all, " CONTROL_TRANSPORT_WORDS, *name);
        err = -EINVAL;
    }
    return err;
}

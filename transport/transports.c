// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "transport/link/transport.h"

#define DECLARE(name) extern const struct transport transport_##name;
#define ROW(name) &transport_##name,

CONTROL_TRANSPORTS(DECLARE)

const struct transport *const transports[] = {CONTROL_TRANSPORTS(ROW) NULL};

void transports_introduce(char *text, size_t room)
{
    *text = '\0';
    for (const struct transport *const *row = transports; *row && !*text; row++)
        (*row)->introduce(text, room);
}

const struct transport *transport_named(const char *name)
{
    for (const struct transport *const *row = transports; *row; row++)
        if (!strcmp((*row)->name, name))
            return *row;
    return NULL;
}

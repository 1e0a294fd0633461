// SPDX-License-Identifier: BSD-3-Clause
#include "sim/uuid.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Returns a number for RGPU_SIM_HOST, which gives boxes with software GPUs different UUIDs in one
// pool.
static uint64_t host_number(void)
{
    const char *name = getenv("RGPU_SIM_HOST");
    uint64_t hash = 0xcbf29ce484222325;
    if (!name || !*name)
        return 0;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return hash;
}

void device_uuid(int ordinal, unsigned char out[16])
{
    static const unsigned char pattern[16] = {0x72, 0x67, 0x70, 0x75, 0x73, 0x69, 0x4d, 0x30,
                                              0x80, 0,    0,    0,    0,    0,    0,    0};
    uint64_t host = host_number();
    memcpy(out, pattern, 16);
    memcpy(out + 9, &host, 6);
    out[15] = (unsigned char)(ordinal + 1);
}

void sim_uuid_text(int ordinal, char out[40])
{
    unsigned char b[16];
    char *p = out;
    device_uuid(ordinal, b);
    for (int i = 0; i < 16; i++)
        p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/near.h"

#include <string.h>
#include <strings.h>

static bool is_label(const char *locality, const char *name, size_t length)
{
    while (*locality) {
        size_t size = strcspn(locality, ".");
        if (size == length && !strncasecmp(locality, name, length))
            return true;
        locality += size + (locality[size] != '\0');
    }
    return false;
}

static bool near_is_there(const struct pool_box *box, const char *name, size_t length)
{
    return is_label(box->locality, name, length) ||
           (strlen(box->name) == length && !strncasecmp(box->name, name, length));
}

uint32_t near_distance(const char *near, const struct pool_box *box)
{
    uint32_t distance = 0;

    while (*near) {
        size_t length = strcspn(near, ",|");
        if (length && near_is_there(box, near, length))
            return distance;
        near += length;
        distance += *near == ',' || !*near;
        near += *near != '\0';
    }
    return distance;
}

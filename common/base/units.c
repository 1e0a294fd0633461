// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

static int parse_scaled(const char *text, uint64_t *value, const char **unit)
{
    char *end;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno)
        return -ERANGE;
    while (*end == ' ')
        end++;
    *unit = end;
    return 0;
}

struct size_unit {
    const char *name;
    uint64_t factor;
};

static int apply_unit(const struct size_unit *units, const char *name, uint64_t value,
                      uint64_t *out)
{
    for (; units->name; units++) {
        if (strcasecmp(units->name, name))
            continue;
        return __builtin_mul_overflow(value, units->factor, out) ? -ERANGE : 0;
    }
    return -EINVAL;
}

static int parse_with(const struct size_unit *units, const char *text, uint64_t *out)
{
    uint64_t value, result;
    const char *unit;
    int err = parse_scaled(text, &value, &unit);

    if (!err)
        err = apply_unit(units, unit, value, &result);
    if (!err)
        *out = result;
    return err;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
    static const struct size_unit units[] = {
        {"", 1},           {"B", 1},
        {"K", 1ull << 10}, {"KiB", 1ull << 10},
        {"M", 1ull << 20}, {"MiB", 1ull << 20},
        {"G", 1ull << 30}, {"GiB", 1ull << 30},
        {"T", 1ull << 40}, {"TiB", 1ull << 40},
        {NULL, 0},
    };

    return parse_with(units, text, bytes);
}

int units_parse_duration(const char *text, uint64_t *microseconds)
{
    static const struct size_unit units[] = {
        {"", 1000000},         {"us", 1},         {"ms", 1000},
        {"s", 1000000},        {"min", 60000000}, {"h", 3600000000ull},
        {"d", 86400000000ull}, {NULL, 0},
    };

    return parse_with(units, text, microseconds);
}

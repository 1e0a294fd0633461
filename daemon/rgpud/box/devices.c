// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/uuid_text.h"
#include "daemon/rgpud/box/box_settings.h"

static int devices_parse_number(const char **text, uint32_t max, uint32_t *out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return -EINVAL;
    unsigned long value = strtoul(*text, &end, 10);
    if (value > max)
        return -EINVAL;
    *text = end;
    *out = (uint32_t)value;
    return 0;
}

static int parse_ordinals(const char *text, struct device_choice *choice)
{
    do {
        uint32_t ordinal;
        if (choice->count == BOX_DEVICES_MAX ||
            devices_parse_number(&text, BOX_DEVICES_MAX - 1, &ordinal))
            return -EINVAL;
        for (uint32_t i = 0; i < choice->count; i++)
            if (choice->ordinals[i] == ordinal)
                return -EINVAL;
        choice->ordinals[choice->count++] = ordinal;
    } while (*text++ == ',');
    return text[-1] ? -EINVAL : 0;
}

int device_choice_parse(const char *text, struct device_choice *out)
{
    struct device_choice choice = {0};
    int err = -EINVAL;

    if (!strcmp(text, "cuda:all")) {
        choice.all = true;
        err = 0;
    } else if (!strncmp(text, "cuda:", 5)) {
        err = parse_ordinals(text + 5, &choice);
    } else if (!strncmp(text, "sim:", 4)) {
        const char *count = text + 4;
        choice.software = choice.all = true;
        err = devices_parse_number(&count, BOX_DEVICES_MAX, &choice.count);
        if (!err && (*count || !choice.count))
            err = -EINVAL;
    }
    if (err) {
        config_complain(settings_table, "box", "devices",
                        "devices=%s is not understood; use cuda:all, cuda:0,1 or sim:2", text);
        return err;
    }
    *out = choice;
    return 0;
}

void device_uuid_text(const uint8_t uuid[16], char text[48])
{
    char digits[UUID_TEXT];

    uuid_text(uuid, digits);
    snprintf(text, 48, "GPU-%s", digits);
}

bool device_is_granted(const struct session_grant *grant, const struct box_device *device)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return true;
    return false;
}

device_set device_set_of(const struct session_grant *grant)
{
    device_set set = 0;

    for (uint32_t i = 0; i < grant->device_count; i++)
        set |= UINT64_C(1) << grant->devices[i]->ordinal;
    return set;
}

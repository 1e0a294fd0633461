// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/config_retired.h"

#include <string.h>

#include "common/service/config_argument.h"
#include "common/base/log.h"

static void config_retired_tell(const struct config_retired *retired, const char *where)
{
    log_warn("%s: %s in section [%s] does nothing any more: %s; remove it", where, retired->name,
             retired->section, retired->instead);
}

bool config_retired_reported(const struct config_retired *rows, const char *section,
                             const char *name, const char *where)
{
    for (const struct config_retired *row = rows; row && row->section; row++) {
        if (!strcmp(row->section, section) && !strcmp(row->name, name)) {
            config_retired_tell(row, where);
            return true;
        }
    }
    return false;
}

bool config_retired_argument(const struct config_retired *rows, const char *argument, bool *alone)
{
    for (const struct config_retired *row = rows; row && row->section; row++) {
        const char *value;
        if (config_argument_is(argument, row->name, &value)) {
            char where[128];
            config_argument_place(argument, where, sizeof(where));
            config_retired_tell(row, where);
            *alone = !value;
            return true;
        }
    }
    return false;
}

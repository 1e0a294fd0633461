// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a configuration file of the box, with everything that its table of settings accepts.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/service/config.h"
#include "common/base/log.h"
#include "daemon/rgpud/box/box_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    struct box_settings settings = {0};
    char path[64];

    if (file < 0) {
        log_set_level(LOG_LEVEL_OFF);
        file = memfd_create("configuration", MFD_CLOEXEC);
    }
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (config_defaults(settings_table, &settings))
        abort();
    if (config_load(settings_table, path, &settings) == 0) {
        struct box_settings fresh = {0};
        if (config_defaults(settings_table, &fresh))
            abort();
        config_take_reloadable(settings_table, &fresh, &settings);
        config_clear(settings_table, &fresh);
    }
    config_clear(settings_table, &settings);
    return 0;
}

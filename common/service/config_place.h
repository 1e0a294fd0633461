// SPDX-License-Identifier: BSD-3-Clause
// Records where each setting was set, from config_place_keep() on, so that later errors can name
// file and line. For one thread only.
#ifndef RGPU_COMMON_CONFIG_PLACE_H
#define RGPU_COMMON_CONFIG_PLACE_H

void config_place_keep(void);
// ROW identifies the setting and is not dereferenced. WHERE is copied.
void config_place_set(const void *row, const char *where);
// Returns where the setting was set; "settings" if that is not recorded.
const char *config_place_of(const void *row);

#endif

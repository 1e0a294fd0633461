// SPDX-License-Identifier: BSD-3-Clause
// Records the place of each value, after config_place_keep(), so that later errors can be reported
// with file and line. For one thread.
#ifndef RGPU_COMMON_CONFIG_PLACE_H
#define RGPU_COMMON_CONFIG_PLACE_H

void config_place_keep(void);
// ROW identifies the setting; its content is not read. WHERE is copied.
void config_place_set(const void *row, const char *where);
// Returns the place of ROW's value, "settings" if it is not recorded.
const char *config_place_of(const void *row);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Remembers where values were given, once it is asked to, so that what is found to be wrong later can be said with
// file and line. One thread.
#ifndef RGPU_COMMON_CONFIG_PLACE_H
#define RGPU_COMMON_CONFIG_PLACE_H

void config_place_keep(void);
// ROW names the setting and is not looked at. WHERE is copied.
void config_place_set(const void *row, const char *where);
// "settings" where nothing was remembered.
const char *config_place_of(const void *row);

#endif

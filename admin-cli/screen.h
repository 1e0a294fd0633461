// SPDX-License-Identifier: BSD-3-Clause
// A terminal that is drawn anew again and again, and whose keys are read one by one.
#ifndef RGPU_ADMIN_CLI_SCREEN_H
#define RGPU_ADMIN_CLI_SCREEN_H

#include <stdbool.h>

// Where standard input is a terminal its keys come unread, until screen_close; signals that end the
// program end screen_key first.
void screen_open(void);
void screen_close(void);

struct screen_size {
    unsigned width, height;
};
struct screen_size screen_size(void);

// The next key within so many seconds, or 0; -1: the program is to end.
int screen_key(int seconds);

#endif

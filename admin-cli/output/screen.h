// SPDX-License-Identifier: BSD-3-Clause
// A terminal that the program redraws periodically and whose keys it reads one by one.
#ifndef RGPU_ADMIN_CLI_SCREEN_H
#define RGPU_ADMIN_CLI_SCREEN_H

#include <stdbool.h>

// If standard input is a terminal, its keys come unread, until screen_close; signals that end the
// program end screen_key first.
void screen_open(void);
void screen_close(void);

struct screen_size {
    unsigned width, height;
};
struct screen_size screen_size(void);

// Returns the next key within SECONDS, 0 if there is none, -1 if the program must end.
int screen_key(int seconds);

#endif

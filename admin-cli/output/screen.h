// SPDX-License-Identifier: BSD-3-Clause
// A full-screen display on a terminal, with input by single keys.
#ifndef RGPU_ADMIN_CLI_SCREEN_H
#define RGPU_ADMIN_CLI_SCREEN_H

#include <stdbool.h>

// Prepares the terminal. If standard input is a terminal, keys are read unbuffered until
// screen_close. Signals that end the program make screen_key return -1.
void screen_open(void);
void screen_close(void);

struct screen_size {
    unsigned width, height;
};
struct screen_size screen_size(void);

// Returns the next key, 0 if none is pressed within SECONDS, or -1 if the program must end.
int screen_key(int seconds);

#endif

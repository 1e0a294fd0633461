// SPDX-License-Identifier: BSD-3-Clause
// The common options of every program: --help, --version and, if it has settings, --print-config;
// and its own options beside those of the settings table.
#ifndef RGPU_COMMON_PROGRAM_H
#define RGPU_COMMON_PROGRAM_H

#include <stdbool.h>

#include "common/service/config.h"

struct program_about {
    const char *name;
    unsigned protocol;                    // whose version --version names as well, or 0
    const char *usage;                    // what --help says
    void (*more)(void);                   // says what follows it, or NULL
    const struct config_option *settings; // for --print-config, or NULL
    bool settings_are_options;            // --help lists them
};

// Handles --help, --version, --print-config or --print-config=developer if it is among the words,
// up to a "--". Returns true if it was, and the program is done.
bool program_answer(const struct program_about *about, int argc, char **argv);
void program_print_help(const struct program_about *about);

// Flushes the output of program NAME and returns its exit STATUS. If the output cannot be written,
// prints an error and returns 1 instead of 0.
int program_finish(const char *name, int status);

// Takes `--name VALUE` or `--name=VALUE` out of the words. NULL: it is not there, or nothing
// follows it.
const char *program_take_value(int *argc, char **argv, const char *name);
// Becomes USER, for a check of settings by root: the service runs as USER, so USER must be able to
// read its keys. Nothing changes for other callers, if there is no such user, or if USER cannot
// read FILE, which then has settings for another purpose. Returns true if the program is USER now.
bool program_become(const char *user, const char *file);

// Takes `--name` out of the words.
bool program_take_flag(int *argc, char **argv, const char *name);

#endif

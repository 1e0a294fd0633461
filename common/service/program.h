// SPDX-License-Identifier: BSD-3-Clause
// Common options of all programs: --help, --version and, for programs with settings,
// --print-config.
#ifndef RGPU_COMMON_PROGRAM_H
#define RGPU_COMMON_PROGRAM_H

#include <stdbool.h>

#include "common/service/config.h"

struct program_about {
    const char *name;
    unsigned protocol;                    // protocol version, which --version prints too; 0: none
    const char *usage;                    // text of --help
    void (*more)(void);                   // prints the end of --help, or NULL
    const struct config_option *settings; // table of settings for --print-config, or NULL
    bool settings_are_options;            // --help lists the settings as options
};

// Executes --help, --version, --print-config or --print-config=developer, if one of them is among
// the arguments before "--". Returns true if so; the program then ends.
bool program_answer(const struct program_about *about, int argc, char **argv);
void program_print_help(const struct program_about *about);

// Flushes standard output and returns STATUS. If that fails, prints an error and returns 1 instead
// of 0.
int program_finish(const char *name, int status);

// Removes `--name VALUE` or `--name=VALUE` from the arguments and returns the value; NULL if it is
// missing.
const char *program_take_value(int *argc, char **argv, const char *name);
// Becomes USER, for a check of settings by root: the service runs as USER, so USER must be able to
// read its keys. Nothing changes for other callers, if there is no such user, or if USER cannot
// read FILE, which then has settings for another purpose. Returns true if the program is USER now.
bool program_become(const char *user, const char *file);

// Takes `--name` out of the words.
bool program_take_flag(int *argc, char **argv, const char *name);

#endif

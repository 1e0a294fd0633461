// SPDX-License-Identifier: BSD-3-Clause
// Completion of command lines by shells: `rgpuctl --complete WORD...` prints what the last word,
// which may be empty, can become, one word a line, with a tab and its meaning. The tables of
// commands have all of it but names of boxes, GPUs and leases, which the broker has.
#ifndef RGPU_ADMIN_CLI_COMPLETE_H
#define RGPU_ADMIN_CLI_COMPLETE_H

#include "admin-cli/output/command.h"

// Exit statuses if the shell itself has the words.
enum { COMPLETE_FILES = 10, COMPLETE_PROGRAMS = 11 };

// Prints WORD if it begins with CURRENT. Returns true if so.
bool complete_offer(const char *word, const char *current, const char *meaning);
// Prints words for the last of WORDS, of which the first is the command's name. Returns the exit
// status.
int complete_words(const struct command *command, int count, char **words);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Colours of states on a terminal.
#ifndef RGPU_ADMIN_CLI_COLOUR_H
#define RGPU_ADMIN_CLI_COLOUR_H

#define COLOUR_OFF "\033[0m"

// Returns the escape sequence for a state, such as "up", "drained" or "problem"; NULL if the state
// has no colour, or colours are not wanted: standard output is not a terminal, or NO_COLOR is set.
const char *colour_of(const char *state);

#endif

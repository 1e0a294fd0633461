// SPDX-License-Identifier: BSD-3-Clause
// Commands of rgpuctl. A command is a row of a table; dispatch, --help and shell completion use the
// tables.
#ifndef RGPU_ADMIN_CLI_COMMAND_H
#define RGPU_ADMIN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

// Rows of the tables omit members that are zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// Exit statuses. `run` ends with its program's status, or with 126 or 127 as a shell does.
enum {
    EXIT_ANSWER_NO = 1, // the command worked, and the answer is negative: not healthy, refused
    EXIT_USAGE = 2,
    EXIT_UNREACHABLE = 3, // the daemon or broker does not answer
    EXIT_TEST_FAILED = 4, // a GPU failed rgpuctl test
};

enum { COMMAND_OPTIONS_MAX = 24, COMMAND_ARGUMENTS_MAX = 128 };

struct command_option {
    const char *name;     // without the dashes
    const char *argument; // NULL: a flag
    const char *help;
    char letter; // short form, such as n for -n, or 0
    // "a|b": one of these words; "1..64": a number in this range; NULL: the command checks it
    const char *values;
};

struct command {
    const char *name;
    const char *arguments;                // arguments after the options, for the usage line
    const char *help;                     // one line
    const struct command_option *options; // ends with a row whose name is NULL; may be NULL
    int (*run)(const struct command *command, int argc, char **argv);
    bool wraps; // the first argument is a program, and all later words are the program's arguments
};

// A parsed command line. VALUES has an entry for each option of the table: its argument, "" for a
// given flag, or NULL.
struct command_line {
    const char *values[COMMAND_OPTIONS_MAX];
    int argc; // arguments after the options
    char **argv;
    char *words[COMMAND_ARGUMENTS_MAX + 1]; // memory for argv, unless the command wraps a program
};

// Parses a command line; argv[0] is the command's name. Options and arguments may be mixed, up to
// "--"; if the command wraps a program, options end at the program's name. Returns a negative
// number if the command can run; else prints help or an error and returns the exit status. OUT must
// not be copied.
int command_parse(const struct command *command, int argc, char **argv, struct command_line *out);
// As command_parse without output. Returns true if the command line is valid.
bool command_look(const struct command *command, int argc, char **argv, struct command_line *out);
const char *command_value(const struct command *command, const struct command_line *line,
                          const char *name);
void command_print_help(const struct command *command);

// Commands by topic; each table ends with a row whose name is NULL.
extern const struct command run_commands[];
extern const struct command box_commands[];
extern const struct command pool_list_commands[];
extern const struct command pool_show_commands[];
extern const struct command pool_top_commands[];
extern const struct command pool_event_commands[];
extern const struct command pool_steer_commands[];
extern const struct command suspend_commands[];
extern const struct command move_commands[];
extern const struct command slurm_commands[];
extern const struct command slurm_check_commands[];
extern const struct command doctor_commands[];
extern const struct command ping_commands[];
extern const struct command vm_commands[];
extern const struct command test_commands[];
extern const struct command cdi_commands[];

#endif

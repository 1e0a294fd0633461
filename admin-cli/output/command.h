// SPDX-License-Identifier: BSD-3-Clause
// Commands of rgpuctl: each is one row of a table with its options, from which come the dispatch,
// --help and the completion of the shell.
#ifndef RGPU_ADMIN_CLI_COMMAND_H
#define RGPU_ADMIN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

// Rows of the tables leave out members that are zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// Exit statuses (`run` ends with its program's own, or 126 and 127 as a shell does).
enum {
    EXIT_ANSWER_NO = 1, // done, and the answer is no: not healthy, refused
    EXIT_USAGE = 2,
    EXIT_UNREACHABLE = 3, // no answer
};

enum { COMMAND_OPTIONS_MAX = 24, COMMAND_ARGUMENTS_MAX = 128 };

struct command_option {
    const char *name;     // without the dashes
    const char *argument; // NULL: a flag
    const char *help;
    char letter;        // a short form such as -n, or 0
    const char *values; // "a|b": one of these words; "1..64": a number; NULL: the command checks it
};

struct command {
    const char *name;
    const char *arguments;                // what follows the options, for the usage line
    const char *help;                     // one line
    const struct command_option *options; // ends with a row without a name; may be NULL
    int (*run)(const struct command *command, int argc, char **argv);
    bool wraps; // the first argument is a program, and what follows is its own
};

// The parsed command line. VALUES has an entry for each option of the table: the argument, or ""
// for a flag that is given, else NULL.
struct command_line {
    const char *values[COMMAND_OPTIONS_MAX];
    int argc; // arguments after the options
    char **argv;
    char *words[COMMAND_ARGUMENTS_MAX + 1]; // where argv points, unless the command wraps a program
};

// Parses the command line; argv[0] is the command's name. Options may follow arguments, up to "--";
// if the command wraps a program, they end at the program's name. Returns a negative number if the
// command can run, else the exit status after printing help or an error. OUT must not be copied.
int command_parse(const struct command *command, int argc, char **argv, struct command_line *out);
// The same without output. Returns true if the command line is valid for this command, and fills in
// OUT.
bool command_look(const struct command *command, int argc, char **argv, struct command_line *out);
const char *command_value(const struct command *command, const struct command_line *line,
                          const char *name);
void command_print_help(const struct command *command);

// The groups; each ends with a row without a name.
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
extern const struct command doctor_commands[];
extern const struct command ping_commands[];
extern const struct command vm_commands[];

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Settings of a program, each declared as a row of a table. The table defines the ini file, the
// command line, --help, and the sample file.
//
//     struct settings { char *listen; uint64_t port; bool verbose; };
//     static const struct config_option options[] = {
//         CONFIG_STRING("box", "listen", struct settings, listen, "127.0.0.1", "address to ..."),
//         ...
//         CONFIG_END
//     };
//
// Precedence, lowest first: default of the row, file, command line (--listen VALUE or
// --listen=VALUE; in option names '-' replaces '_').
#ifndef RGPU_COMMON_CONFIG_H
#define RGPU_COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_type {
    CONFIG_TYPE_BOOL, // bool: yes/no, true/false, on/off, 1/0
    CONFIG_TYPE_INT,  // int64_t in [min, max]
    CONFIG_TYPE_SIZE, // uint64_t, bytes: a number, or with K, M, G, T (powers of 1024); in
                      // [min, max] and a multiple of step, if these are not 0
    // uint64_t, microseconds: with us, ms, s, min, h, d; 0 only if `zero` is set
    CONFIG_TYPE_DURATION,
    CONFIG_TYPE_STRING, // char *, allocated; NULL for ""
    CONFIG_TYPE_ENUM,   // int: index into choices
    // char **, allocated, NULL-terminated; comma-separated in the file; never NULL itself
    CONFIG_TYPE_LIST,
};

struct config_option {
    const char *section;
    const char *name;
    enum config_type type;
    size_t offset;              // offset of the member in the settings structure
    const char *default_value;  // in the format of the file
    const char *help;           // one line
    const char *const *choices; // CONFIG_TYPE_ENUM: NULL-terminated words
    int64_t min, max;           // CONFIG_TYPE_INT, CONFIG_TYPE_SIZE (0: no limit)
    int64_t step;               // CONFIG_TYPE_SIZE; 0: none
    const char *word;           // CONFIG_TYPE_SIZE: word for the value 0
    bool zero;                  // CONFIG_TYPE_DURATION: 0 is allowed
    bool reloadable;            // a reload changes it; other settings need a restart
    // For tests and debugging. Help and sample omit it; the manual lists it under DEVELOPER
    // SETTINGS.
    bool developer;
    // only in the row that ends the table, see config_retired.h
    const struct config_retired *retired;
};

#define CONFIG_ROW_(section_, name_, type_, struct_, field_, default_, help_, ...) \
    { \
        .section = section_, .name = name_, .type = type_, .offset = offsetof(struct_, field_), \
        .default_value = default_, .help = help_, __VA_ARGS__ \
    }
#define CONFIG_BOOL(section, name, type, field, def, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_BOOL, type, field, def, help, __VA_ARGS__)
#define CONFIG_INT(section, name, type, field, def, lo, hi, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_INT, type, field, def, help, .min = lo, .max = hi, \
                __VA_ARGS__)
#define CONFIG_SIZE(section, name, type, field, def, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_SIZE, type, field, def, help, __VA_ARGS__)
#define CONFIG_DURATION(section, name, type, field, def, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_DURATION, type, field, def, help, __VA_ARGS__)
#define CONFIG_STRING(section, name, type, field, def, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_STRING, type, field, def, help, __VA_ARGS__)
#define CONFIG_ENUM(section, name, type, field, def, words, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_ENUM, type, field, def, help, .choices = words, \
                __VA_ARGS__)
#define CONFIG_LIST(section, name, type, field, def, help, ...) \
    CONFIG_ROW_(section, name, CONFIG_TYPE_LIST, type, field, def, help, __VA_ARGS__)
#define CONFIG_END CONFIG_END_RETIRED(NULL)
#define CONFIG_END_RETIRED(retired_) \
    { \
        .section = NULL, .retired = retired_ \
    }

// Sets all members of SETTINGS, which the caller has zeroed, to their defaults. Returns 0 or
// -errno.
int config_defaults(const struct config_option *table, void *settings)
    __attribute__((warn_unused_result));

// Reads a settings file. Logs each problem as "FILE:LINE: what". Unknown names, for which the
// nearest known name is logged, and repeated names are errors; options of earlier releases are
// warnings. Returns 0, -EINVAL after problems, or -errno if the file cannot be read.
int config_load(const struct config_option *table, const char *path, void *settings)
    __attribute__((warn_unused_result));

// Sets one option from text. Logs errors with the prefix WHERE ("file:3", "--port"). Returns 0 or
// -EINVAL.
int config_set(const struct config_option *table, const char *section, const char *name,
               const char *value, const char *where, void *settings)
    __attribute__((warn_unused_result));

// Parses the options of the table and removes them from argv, with *argc adjusted; argv[0] and
// other words remain. A bool may lack a value. "--" ends the search. Returns 0, or -EINVAL after
// logging.
int config_command_line(const struct config_option *table, int *argc, char **argv, void *settings)
    __attribute__((warn_unused_result));

// From now on records where each value is set. For programs that read their settings in one thread.
void config_keep_places(void);
// Returns where the present (or rejected) value was set: "FILE:LINE", "command line: --name" or
// "default".
const char *config_place(const struct config_option *table, const char *section, const char *name);
// Logs an error in a value that is syntactically valid, with the place where it was set.
#define config_complain(table, section, name, format, ...) \
    log_error("%s: " format, config_place(table, section, name), ##__VA_ARGS__)

// Print the table: as text for --help, without developer settings; and as a sample file, with or
// without developer settings.
void config_print_help(const struct config_option *table, FILE *out);
void config_print_sample(const struct config_option *table, const char *program, bool developer,
                         FILE *out);

// Frees strings and lists. config_defaults may fill SETTINGS again.
void config_clear(const struct config_option *table, void *settings);

// Copies the values of reloadable options from FRESH to CURRENT. Strings are exchanged, so the
// caller clears both.
void config_take_reloadable(const struct config_option *table, void *current, void *fresh);

// Logs each option that differs and is not reloadable.
void config_report_restart_needed(const struct config_option *table, const void *old_settings,
                                  const void *new_settings);

#endif

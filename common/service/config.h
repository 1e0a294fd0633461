// SPDX-License-Identifier: BSD-3-Clause
// Settings, each one row of a table. The table defines the ini file, the command line, --help, the
// commented sample file, and the checks that manual and sample are complete.
//
//     struct settings { char *listen; uint64_t port; bool verbose; };
//     static const struct config_option options[] = {
//         CONFIG_STRING("box", "listen", struct settings, listen, "127.0.0.1", "address to ..."),
//         ...
//         CONFIG_END
//     };
//
// A value is set by, in rising order: the row's default, the file, the command line
// (--listen VALUE or --listen=VALUE; a row's option name is its name with '_' as '-').
#ifndef RGPU_COMMON_CONFIG_H
#define RGPU_COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_type {
    CONFIG_TYPE_BOOL,     // bool: yes/no, true/false, on/off, 1/0
    CONFIG_TYPE_INT,      // int64_t, within [min, max]
    CONFIG_TYPE_SIZE,     // uint64_t bytes: plain or with K, M, G, T (powers of 1024); in
                          // [min, max], a multiple of step, where those are given
    CONFIG_TYPE_DURATION, // uint64_t microseconds: us, ms, s, min, h, d; 0 where `zero` is set
    CONFIG_TYPE_STRING,   // char *, heap; NULL where empty
    CONFIG_TYPE_ENUM,     // int: index into choices
    CONFIG_TYPE_LIST,     // char **, heap, NULL-terminated; comma-separated; never NULL itself
};

struct config_option {
    const char *section;
    const char *name;
    enum config_type type;
    size_t offset;              // of the field in the settings structure
    const char *default_value;  // as text, as in a file
    const char *help;           // one line
    const char *const *choices; // CONFIG_TYPE_ENUM: NULL-terminated words
    int64_t min, max;           // CONFIG_TYPE_INT, CONFIG_TYPE_SIZE (0: any)
    int64_t step;               // CONFIG_TYPE_SIZE, 0: any
    const char *word;           // CONFIG_TYPE_SIZE: this word is a value too, kept as 0
    bool zero;                  // CONFIG_TYPE_DURATION: 0 is a value too
    bool reloadable;            // taken over on a reload; others need a restart
    // For tests and for finding faults. The default suits every site, so help and sample leave it
    // out; the manual names it under DEVELOPER SETTINGS.
    bool developer;
    const struct config_retired *retired; // of the row that ends the table: config_retired.h
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

// Fills SETTINGS (zeroed by the caller) with the defaults.
int config_defaults(const struct config_option *table, void *settings)
    __attribute__((warn_unused_result));

// Reads the file at PATH. Every problem is logged as "FILE:LINE: what"; -EINVAL if there was any,
// or -errno where the file cannot be read. Unknown names are errors, with the nearest known one,
// and so are names that are given twice; options of earlier releases are warnings.
int config_load(const struct config_option *table, const char *path, void *settings)
    __attribute__((warn_unused_result));

// Sets one option from text; logs the reason prefixed with WHERE ("file:3", "--port").
int config_set(const struct config_option *table, const char *section, const char *name,
               const char *value, const char *where, void *settings)
    __attribute__((warn_unused_result));

// Parses the options of the table and removes them from argv; argv[0] and the other words are left
// to the caller, and *argc is adjusted. A bool may stand without a value. "--" ends the search.
// -EINVAL after logging.
int config_command_line(const struct config_option *table, int *argc, char **argv, void *settings)
    __attribute__((warn_unused_result));

// From here on it is remembered where each value was given. For programs that read their settings
// in one thread.
void config_keep_places(void);
// Returns the place of the value in use, or of the refused one: "FILE:LINE", "command line: --name"
// or "default".
const char *config_place(const struct config_option *table, const char *section, const char *name);
// Logs an error of a value beyond its form, after that place.
#define config_complain(table, section, name, format, ...) \
    log_error("%s: " format, config_place(table, section, name), ##__VA_ARGS__)

// Print the table as --help text, without developer settings, and as a commented sample file of
// either kind.
void config_print_help(const struct config_option *table, FILE *out);
void config_print_sample(const struct config_option *table, const char *program, bool developer,
                         FILE *out);

// Frees the strings and lists; SETTINGS may be filled again with config_defaults afterwards.
void config_clear(const struct config_option *table, void *settings);

// Moves the values of the reloadable options from FRESH to CURRENT (which gets FRESH's memory and
// gives its own; both stay to be cleared).
void config_take_reloadable(const struct config_option *table, void *current, void *fresh);

// Logs each option that differs between OLD and NEW but is not reloadable.
void config_report_restart_needed(const struct config_option *table, const void *old_settings,
                                  const void *new_settings);

#endif

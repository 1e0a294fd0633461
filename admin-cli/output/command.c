// SPDX-License-Identifier: BSD-3-Clause
// Parses command lines and prints help, by the tables of commands.
#include "admin-cli/output/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command_option no_options[] = {{0}};

static const struct command_option *options_of(const struct command *command)
{
    return command->options ? command->options : no_options;
}

void command_print_help(const struct command *command)
{
    printf("usage: rgpuctl %s [options] %s\n\n%s\n\n", command->name, command->arguments,
           command->help);
    for (const struct command_option *o = options_of(command); o->name; o++) {
        char left[64], letter[6] = {'-', o->letter, ',', ' ', 0};
        snprintf(left, sizeof(left), "%s--%s %s", o->letter ? letter : "", o->name,
                 o->argument ? o->argument : "");
        printf("  %-28s %s\n", left, o->help);
    }
    printf("  %-28s %s\n", "-h, --help", "this text");
}

static int command_find_option(const struct command *command, const char *word, const char **value)
{
    size_t n = strcspn(word, "=");
    const struct command_option *options = options_of(command);

    // word has lost two characters: a letter stands where the second dash would be.
    for (int i = 0; word[-1] != '-' && options[i].name; i++) {
        if (options[i].letter == word[-1]) {
            *value = *word ? word : NULL;
            return i;
        }
    }
    if (word[-1] != '-')
        return -1;
    for (int i = 0; options[i].name; i++) {
        if (strlen(options[i].name) == n && !strncmp(options[i].name, word, n)) {
            *value = word[n] ? word + n + 1 : NULL;
            return i;
        }
    }
    return -1;
}

static bool is_word_of(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; at; at = strchr(at, '|'), at += at ? 1 : 0)
        if (!strncmp(at, word, n) && (at[n] == '|' || !at[n]))
            return n > 0;
    return false;
}

static bool command_is_allowed(const struct command_option *option, const char *value)
{
    long long least, most, number;
    char *end;

    if (!option->values)
        return true;
    if (sscanf(option->values, "%lld..%lld", &least, &most) != 2)
        return is_word_of(option->values, value);
    errno = 0;
    number = strtoll(value, &end, 10);
    return isdigit((unsigned char)*value) && !*end && !errno && number >= least && number <= most;
}

// Prints the error to ERRORS, which may be NULL.
__attribute__((format(printf, 3, 4))) static int refuse(FILE *errors, const struct command *command,
                                                        const char *format, ...)
{
    va_list list;

    if (errors) {
        fprintf(errors, "rgpuctl %s: ", command->name);
        va_start(list, format);
        vfprintf(errors, format, list);
        va_end(list);
        fprintf(errors, "; see rgpuctl %s --help\n", command->name);
    }
    return EXIT_USAGE;
}

static int command_take_option(const struct command *command, int argc, char **argv, int *at,
                               struct command_line *out, FILE *errors)
{
    const char *word = argv[*at], *value;
    int index = command_find_option(command, word + 2, &value);

    if (index < 0)
        return refuse(errors, command, "unknown option %s", word);
    const struct command_option *option = &command->options[index];
    if (!option->argument && value)
        return refuse(errors, command, "--%s takes no value", option->name);
    if (!option->argument) {
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc)
            return refuse(errors, command, "%s needs %s", word, option->argument);
        value = argv[++*at];
    }
    if (option->argument && !command_is_allowed(option, value))
        return refuse(errors, command, "--%s %s: %s is what it takes", option->name, value,
                      option->values);
    out->values[index] = value;
    return -1;
}

static int parse(const struct command *command, int argc, char **argv, struct command_line *out,
                 FILE *errors)
{
    bool options = true;
    int status;

    memset(out, 0, sizeof(*out));
    out->argv = out->words;
    for (int i = 1; i < argc; i++) {
        bool dash = options && argv[i][0] == '-' && argv[i][1];
        if (dash && !strcmp(argv[i], "--")) {
            options = false;
        } else if (dash) {
            if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
                if (errors)
                    command_print_help(command);
                return 0;
            }
            status = command_take_option(command, argc, argv, &i, out, errors);
            if (status >= 0)
                return status;
        } else if (command->wraps) {
            out->argc = argc - i;
            out->argv = argv + i;
            return -1;
        } else if (out->argc == COMMAND_ARGUMENTS_MAX) {
            return refuse(errors, command, "more than %d arguments", COMMAND_ARGUMENTS_MAX);
        } else {
            out->words[out->argc++] = argv[i];
        }
    }
    return -1;
}

int command_parse(const struct command *command, int argc, char **argv, struct command_line *out)
{
    return parse(command, argc, argv, out, stderr);
}

bool command_look(const struct command *command, int argc, char **argv, struct command_line *out)
{
    return parse(command, argc, argv, out, NULL) < 0;
}

const char *command_value(const struct command *command, const struct command_line *line,
                          const char *name)
{
    const struct command_option *options = options_of(command);

    for (int i = 0; options[i].name; i++)
        if (!strcmp(options[i].name, name))
            return line->values[i];
    return NULL;
}

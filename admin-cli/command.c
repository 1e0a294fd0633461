// SPDX-License-Identifier: BSD-3-Clause
// Command lines of rgpuctl's commands, and the help that follows from their tables.
#include "admin-cli/command.h"

#include <stdio.h>
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
    printf("  %-28s %s\n", "--help", "this text");
}

static void list_options(const struct command *command)
{
    for (const struct command_option *o = options_of(command); o->name; o++)
        printf("--%s\n", o->name);
    printf("--help\n");
}

static int find_option(const struct command *command, const char *word, const char **value)
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

static int take_option(const struct command *command, int argc, char **argv, int *at,
                       struct command_line *out)
{
    const char *word = argv[*at] + 2, *value;
    int index = find_option(command, word, &value);

    if (index < 0) {
        fprintf(stderr, "rgpuctl %s: unknown option %s; see rgpuctl %s --help\n", command->name,
                argv[*at], command->name);
        return EXIT_USAGE;
    }
    if (!command->options[index].argument) {
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc) {
            fprintf(stderr, "rgpuctl %s: %s needs %s\n", command->name, argv[*at],
                    command->options[index].argument);
            return EXIT_USAGE;
        }
        value = argv[++*at];
    }
    out->values[index] = value;
    return -1;
}

int command_parse(const struct command *command, int argc, char **argv, struct command_line *out)
{
    int i;

    memset(out, 0, sizeof(*out));
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!strcmp(argv[i], "--help")) {
            command_print_help(command);
            return 0;
        }
        if (!strcmp(argv[i], "--list-options")) {
            list_options(command);
            return 0;
        }
        int status = take_option(command, argc, argv, &i, out);
        if (status >= 0)
            return status;
    }
    out->argc = argc - i;
    out->argv = argv + i;
    return -1;
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

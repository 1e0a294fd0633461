// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-cli/output/conversation.h"
#include "admin-cli/slurm_output.h"

enum { COMPLETE_TIMEOUT_MS = 2000 };

bool complete_offer(const char *word, const char *current, const char *meaning)
{
    if (strncmp(word, current, strlen(current)) != 0)
        return false;
    printf("%s\t%s\n", word, meaning);
    return true;
}

// ---- names of the pool ----

static const struct {
    const char *word, *path, *list; // the word in help texts, and where the broker has the names
    const char *name, *meaning;
} complete_lists[] = {
    {"BOX", "/v1/boxes", "boxes", "name", "state"},
    {"GPU", "/v1/gpus", "gpus", "uuid", "model"},
    {"LEASE", "/v1/leases", "leases", "id", "job"},
};

static bool complete_name(const char *word, const char *current)
{
    const struct broker_client_options options = {.timeout_ms = COMPLETE_TIMEOUT_MS};
    struct broker_client *client = NULL;
    json_t *answer = NULL, *row;
    bool offered = false;
    size_t i, list = 0, count = sizeof(complete_lists) / sizeof(complete_lists[0]);

    while (list < count && strcmp(complete_lists[list].word, word) != 0)
        list++;
    if (list < count && !broker_client_open(&options, &client) &&
        !broker_client_call(client, "GET", complete_lists[list].path, NULL, &answer))
        json_array_foreach(json_object_get(answer, complete_lists[list].list), i, row)
            offered |= complete_offer(table_text(row, complete_lists[list].name), current,
                                      table_text(row, complete_lists[list].meaning));
    json_decref(answer);
    broker_client_close(&client);
    return offered;
}

// ---- words of the tables ----

// Offers the small words of a text such as "GPU exclusive|shared|auto", and names for those in
// capitals.
static bool complete_alternatives(const char *text, const char *current)
{
    bool offered = false;

    while (*text) {
        char word[64];
        size_t size = 0;

        for (; isalnum((unsigned char)text[size]) || text[size] == '-'; size++) {
        }
        snprintf(word, sizeof(word), "%.*s", (int)size, text);
        if (islower((unsigned char)*word))
            offered |= complete_offer(word, current, "");
        else if (size)
            offered |= complete_name(word, current);
        text += size ? size : 1;
    }
    return offered;
}

static void complete_constraint(const char *current)
{
    static const char list[] = BROKER_CONSTRAINTS;

    for (const char *at = list; *at; at += strspn(at, ", ")) {
        char word[64];
        size_t size = strcspn(at, "= ,");

        snprintf(word, sizeof(word), "%.*s", (int)(size + (at[size] == '=')), at);
        complete_offer(word, current, "");
        at += strcspn(at, ",");
    }
}

static void complete_partition(const char *current)
{
    static const char *const sinfo[] = {"sinfo", "-h", "-o", "%R", NULL};
    char *output = NULL, *rest = NULL;

    if (!slurm_output_of(sinfo, &output) && output)
        for (char *name = strtok_r(output, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
            complete_offer(name, current, "");
    free(output);
}

static int complete_value(const struct command_option *option, const char *current)
{
    if (!strcmp(option->argument, "FILE") || !strcmp(option->argument, "PATH"))
        return COMPLETE_FILES;
    if (!strcmp(option->name, "constraint"))
        complete_constraint(current);
    else if (!strcmp(option->name, "partition"))
        complete_partition(current);
    else if (option->values && !isdigit((unsigned char)*option->values))
        complete_alternatives(option->values, current);
    else
        complete_alternatives(option->argument, current);
    return 0;
}

static const struct command_option *complete_option(const struct command *command, const char *word)
{
    for (const struct command_option *o = command->options; o && o->name && *word == '-'; o++)
        if (word[1] == '-' ? !strcmp(word + 2, o->name)
                           : o->letter && word[1] == o->letter && !word[2])
            return o;
    return NULL;
}

static void complete_options(const struct command *command, const char *current)
{
    char word[64];

    for (const struct command_option *o = command->options; o && o->name; o++) {
        snprintf(word, sizeof(word), "--%s", o->name);
        complete_offer(word, current, o->help);
    }
    complete_offer("--help", current, "this text");
    if (command->wraps)
        complete_offer("--", current, "the program comes next");
}

int complete_words(const struct command *command, int count, char **words)
{
    const char *current = words[count - 1], *before = words[count - 2];

    for (int i = 1; i < count - 1; i++)
        if (!strcmp(words[i], "--"))
            return i == count - 2 ? COMPLETE_PROGRAMS : COMPLETE_FILES;
    const struct command_option *option = count > 2 ? complete_option(command, before) : NULL;
    if (option && option->argument)
        return complete_value(option, current);
    if (*current == '-' || !complete_alternatives(command->arguments, current))
        complete_options(command, current);
    return 0;
}

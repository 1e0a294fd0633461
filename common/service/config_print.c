// SPDX-License-Identifier: BSD-3-Clause
// Prints the table as help text and as a sample file, and compares settings.
#include <string.h>

#include "common/service/config.h"
#include "common/base/log.h"

static void command_line_name(const struct config_option *option, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "--%s", option->name);

    for (size_t i = 0; i < used && i < size; i++)
        if (text[i] == '_')
            text[i] = '-';
}

static const char *value_word(const struct config_option *option)
{
    switch (option->type) {
    case CONFIG_TYPE_BOOL: return "yes|no";
    case CONFIG_TYPE_INT: return "NUMBER";
    case CONFIG_TYPE_SIZE: return "SIZE";
    case CONFIG_TYPE_DURATION: return "TIME";
    case CONFIG_TYPE_STRING: return "TEXT";
    case CONFIG_TYPE_ENUM: return "WORD";
    case CONFIG_TYPE_LIST: return "LIST";
    }
    return "";
}

static void print_choices(const struct config_option *option, FILE *out)
{
    if (option->type != CONFIG_TYPE_ENUM)
        return;
    fprintf(out, " (");
    for (int i = 0; option->choices[i]; i++)
        fprintf(out, "%s%s", i ? ", " : "", option->choices[i]);
    fprintf(out, ")");
}

void config_print_help(const struct config_option *table, FILE *out)
{
    for (; table->section; table++) {
        char name[80], left[120];
        if (table->developer)
            continue;
        command_line_name(table, name, sizeof(name));
        snprintf(left, sizeof(left), "%s %s", name, value_word(table));
        fprintf(out, "  %-30s %s", left, table->help);
        print_choices(table, out);
        if (*table->default_value)
            fprintf(out, " [%s]", table->default_value);
        fprintf(out, "\n");
    }
}

void config_print_sample(const struct config_option *table, const char *program, bool developer,
                         FILE *out)
{
    const char *section = "";

    fprintf(out, "# Settings of %s with their defaults; uncomment to change.\n", program);
    for (; table->section; table++) {
        if (table->developer != developer)
            continue;
        if (strcmp(section, table->section)) {
            section = table->section;
            fprintf(out, "\n[%s]\n", section);
        }
        fprintf(out, "\n# %s", table->help);
        print_choices(table, out);
        fprintf(out, "%s\n#%s =%s%s\n", table->reloadable ? " (taken over on reload)" : "",
                table->name, *table->default_value ? " " : "", table->default_value);
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_list(char *const *a, char *const *b)
{
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b))
            return false;
    return !*a && !*b;
}

static bool same_value(const struct config_option *option, const void *a, const void *b)
{
    const char *x = (const char *)a + option->offset;
    const char *y = (const char *)b + option->offset;

    switch (option->type) {
    case CONFIG_TYPE_BOOL: return *(const bool *)x == *(const bool *)y;
    case CONFIG_TYPE_ENUM: return *(const int *)x == *(const int *)y;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_SIZE:
    case CONFIG_TYPE_DURATION: return *(const uint64_t *)x == *(const uint64_t *)y;
    case CONFIG_TYPE_STRING: return same_text(*(char *const *)x, *(char *const *)y);
    case CONFIG_TYPE_LIST: return same_list(*(char *const *const *)x, *(char *const *const *)y);
    }
    return true;
}

void config_report_restart_needed(const struct config_option *table, const void *old_settings,
                                  const void *new_settings)
{
    for (; table->section; table++)
        if (!table->reloadable && !same_value(table, old_settings, new_settings))
            log_warn("option changed but needs a restart section=%s name=%s", table->section,
                     table->name);
}

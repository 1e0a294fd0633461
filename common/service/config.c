// SPDX-License-Identifier: BSD-3-Clause
// Reads ini files (with libinih) and command lines, and checks them against the table.
#include "common/service/config.h"

#include <errno.h>
#include <ini.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/service/config_argument.h"
#include "common/service/config_place.h"
#include "common/service/config_retired.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/units.h"

enum { PIPE_TIMEOUT_MS = 5000 };

static void *field_of(const struct config_option *option, void *settings)
{
    return (char *)settings + option->offset;
}

static int parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"yes", "true", "on", "1", NULL};
    static const char *const no[] = {"no", "false", "off", "0", NULL};

    for (int i = 0; yes[i]; i++) {
        if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
            *out = !strcasecmp(text, yes[i]);
            return 0;
        }
    }
    return -EINVAL;
}

// Returns true if the next word of a command line (NULL after the last one) is the value of a
// yes-or-no option before it.
static bool is_bool(const char *text)
{
    bool ignored;

    return text && parse_bool(text, &ignored) == 0;
}

static int parse_integer(const struct config_option *option, const char *text, int64_t *out)
{
    char *end;
    int64_t value;

    errno = 0;
    value = strtoll(text, &end, 0);
    if (end == text || *end)
        return -EINVAL;
    if (errno || value < option->min || value > option->max)
        return -ERANGE;
    *out = value;
    return 0;
}

static void config_free_list(char **list)
{
    for (char **item = list; item && *item; item++)
        free(*item);
    free(list);
}

static int parse_list(const char *text, char ***out)
{
    size_t count = 0, capacity = 2;

    for (const char *p = text; *p; p++)
        capacity += *p == ',';
    char **list = calloc(capacity, sizeof(*list));
    if (!list)
        return -ENOMEM;
    while (*text) {
        text += strspn(text, " \t,");
        size_t n = strcspn(text, ",");
        const char *next = text + n;
        while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
            n--;
        if (n) {
            list[count] = strndup(text, n);
            if (!list[count++]) {
                config_free_list(list);
                return -ENOMEM;
            }
        }
        text = next;
    }
    *out = list;
    return 0;
}

static int parse_choice(const struct config_option *option, const char *text, int *out)
{
    for (int i = 0; option->choices[i]; i++) {
        if (!strcasecmp(option->choices[i], text)) {
            *out = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int set_string(char **field, const char *text)
{
    char *copy = *text ? strdup(text) : NULL;

    if (*text && !copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int set_list(char ***field, const char *text)
{
    char **list;
    int err = parse_list(text, &list);

    if (err)
        return err;
    config_free_list(*field);
    *field = list;
    return 0;
}

static int parse_size(const struct config_option *option, const char *text, uint64_t *field)
{
    uint64_t bytes;

    if (option->word && !strcmp(text, option->word)) {
        *field = 0;
        return 0;
    }
    int err = units_parse_size(text, &bytes);
    if (err)
        return err;
    if (bytes < (uint64_t)option->min || (option->max && bytes > (uint64_t)option->max) ||
        (option->step && bytes % (uint64_t)option->step))
        return -EINVAL;
    *field = bytes;
    return 0;
}

// A number alone might be meant as seconds or as milliseconds, so only zero goes without a unit.
static int parse_duration(const struct config_option *option, const char *text, uint64_t *field)
{
    uint64_t microseconds;
    int err = units_parse_duration(text, &microseconds);

    if (err)
        return err;
    if (microseconds ? !text[strspn(text, "0123456789 ")] : !option->zero)
        return -EINVAL;
    *field = microseconds;
    return 0;
}

static int set_value(const struct config_option *option, const char *text, void *settings)
{
    void *field = field_of(option, settings);

    switch (option->type) {
    case CONFIG_TYPE_BOOL: return parse_bool(text, field);
    case CONFIG_TYPE_INT: return parse_integer(option, text, field);
    case CONFIG_TYPE_SIZE: return parse_size(option, text, field);
    case CONFIG_TYPE_DURATION: return parse_duration(option, text, field);
    case CONFIG_TYPE_STRING: return set_string(field, text);
    case CONFIG_TYPE_ENUM: return parse_choice(option, text, field);
    case CONFIG_TYPE_LIST: return set_list(field, text);
    }
    return -EINVAL;
}

static void expected_size(const struct config_option *option, char *text, size_t size)
{
    size_t used = 0;

    if (option->word)
        used = (size_t)snprintf(text, size, "%s or ", option->word);
    if (option->max)
        used += (size_t)snprintf(text + used, size - used, "a size from %lldK to %lldK",
                                 (long long)option->min / 1024, (long long)option->max / 1024);
    else
        used += (size_t)snprintf(text + used, size - used, "a size such as 4096, 512K, 16M or 4G");
    if (option->step)
        snprintf(text + used, size - used, " in steps of %lldK", (long long)option->step / 1024);
}

static void expected_text(const struct config_option *option, char *text, size_t size)
{
    switch (option->type) {
    case CONFIG_TYPE_BOOL: snprintf(text, size, "yes or no"); return;
    case CONFIG_TYPE_INT:
        snprintf(text, size, "a number from %lld to %lld", (long long)option->min,
                 (long long)option->max);
        return;
    case CONFIG_TYPE_SIZE: expected_size(option, text, size); return;
    case CONFIG_TYPE_DURATION:
        snprintf(text, size, "%sa time with its unit such as 500us, 20ms, 5s or 2min",
                 option->zero ? "0 or " : "");
        return;
    case CONFIG_TYPE_STRING:
    case CONFIG_TYPE_LIST: snprintf(text, size, "text"); return;
    case CONFIG_TYPE_ENUM: {
        size_t used = (size_t)snprintf(text, size, "one of");
        for (int i = 0; option->choices[i] && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, " %s", option->choices[i]);
        return;
    }
    }
}

// Edit distance of two short words, the smaller the likelier a slip of the keyboard.
static unsigned word_distance(const char *a, const char *b)
{
    unsigned row[64];
    size_t columns = strlen(b);

    if (columns >= 63)
        return 63;
    for (size_t j = 0; j <= columns; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < columns; j++) {
            unsigned change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            unsigned shift = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            row[j + 1] = change < shift ? change : shift;
        }
    }
    return row[columns];
}

static const struct config_option *nearest_option(const struct config_option *table,
                                                  const char *section, const char *name)
{
    const struct config_option *best = NULL;
    unsigned best_distance = (unsigned)strlen(name) / 3 + 2;

    for (; table->section; table++) {
        unsigned distance = word_distance(name, table->name);
        if (section && strcmp(section, table->section))
            distance++;
        if (distance < best_distance) {
            best = table;
            best_distance = distance;
        }
    }
    return best;
}

static const struct config_option *config_find_option(const struct config_option *table,
                                                      const char *section, const char *name)
{
    for (; table->section; table++)
        if (!strcmp(table->section, section) && !strcmp(table->name, name))
            return table;
    return NULL;
}

// The last row of a table lists its retired settings.
static const struct config_retired *retired_of(const struct config_option *table)
{
    while (table->section)
        table++;
    return table->retired;
}

void config_keep_places(void)
{
    config_place_keep();
}

const char *config_place(const struct config_option *table, const char *section, const char *name)
{
    return config_place_of(config_find_option(table, section, name));
}

static int config_store(const struct config_option *option, const char *value, const char *where,
                        void *settings)
{
    char expected[256];
    int err = set_value(option, value, settings);

    config_place_set(option, where);
    if (err == -ENOMEM) {
        log_error("%s: out of memory", where);
        return err;
    }
    if (!err)
        return 0;
    expected_text(option, expected, sizeof(expected));
    log_error("%s: %s=%s is not %s", where, option->name, value, expected);
    return -EINVAL;
}

int config_set(const struct config_option *table, const char *section, const char *name,
               const char *value, const char *where, void *settings)
{
    const struct config_option *option = config_find_option(table, section, name);

    if (option)
        return config_store(option, value, where, settings);
    if (config_retired_reported(retired_of(table), section, name, where))
        return 0;
    const struct config_option *near = nearest_option(table, section, name);
    if (near)
        log_error("%s: unknown option %s in section [%s]; did you mean %s in [%s]?", where, name,
                  section, near->name, near->section);
    else
        log_error("%s: unknown option %s in section [%s]", where, name, section);
    return -EINVAL;
}

int config_defaults(const struct config_option *table, void *settings)
{
    for (; table->section; table++) {
        int err = config_store(table, table->default_value, "default", settings);
        if (err)
            return err;
    }
    return 0;
}

struct file_reader {
    FILE *file;
    const char *path;
    unsigned line;
    bool overlong;
    unsigned errors;
    const struct config_option *table;
    unsigned *given; // for each row of the table the line that gave it, or 0
    void *settings;
};

// libinih asks for one line per call, so counting calls gives the handler its line number.
static char *config_read_line(char *buffer, int size, void *stream)
{
    struct file_reader *reader = stream;
    char *line = fgets(buffer, size, reader->file);

    if (!line)
        return NULL;
    bool complete = strchr(line, '\n') || feof(reader->file);
    if (!reader->overlong)
        reader->line++;
    if (!complete && !reader->overlong) {
        log_error("%s:%u: line too long (at most %d bytes)", reader->path, reader->line, size - 2);
        reader->errors++;
    }
    reader->overlong = !complete;
    return line;
}

// A setting that is given twice is an error, since the author's intention is unknown.
static bool is_given_again(struct file_reader *reader, const char *section, const char *name)
{
    const struct config_option *option = config_find_option(reader->table, section, name);
    unsigned *given = option ? &reader->given[option - reader->table] : NULL;

    if (given && *given)
        log_error("%s:%u: %s in section [%s] was given before, on line %u", reader->path,
                  reader->line, name, section, *given);
    else if (given)
        *given = reader->line;
    return given && *given != reader->line;
}

static int take_setting(void *argument, const char *section, const char *name, const char *value)
{
    struct file_reader *reader = argument;
    char where[512];

    snprintf(where, sizeof(where), "%s:%u", reader->path, reader->line);
    if (is_given_again(reader, section, name) ||
        config_set(reader->table, section, name, value, where, reader->settings))
        reader->errors++;
    return 1;
}

// Accepts a file, or a pipe with a writer. A directory would read as empty settings, and a device
// could be read for ever.
static int check_kind(FILE *file)
{
    struct pollfd pipe = {.fd = fileno(file), .events = POLLIN};
    struct stat status;

    if (fstat(pipe.fd, &status))
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    if (S_ISCHR(status.st_mode))
        return status.st_rdev == makedev(1, 3) ? 0 : -ENOTSUP; // only /dev/null ends
    if (S_ISFIFO(status.st_mode))
        return poll(&pipe, 1, PIPE_TIMEOUT_MS) > 0 ? 0 : -ETIMEDOUT;
    return S_ISREG(status.st_mode) ? 0 : -ENOTSUP;
}

// NULL with errno set.
static FILE *open_settings(const char *path)
{
    FILE *file = descriptor_open_file(path, "r");
    int err = file ? check_kind(file) : 0;

    if (err) {
        fclose(file);
        errno = -err;
        return NULL;
    }
    return file;
}

int config_load(const struct config_option *table, const char *path, void *settings)
{
    struct file_reader reader = {.path = path, .table = table, .settings = settings};
    size_t rows = 1;

    while (table[rows - 1].section)
        rows++;
    reader.given = calloc(rows, sizeof(*reader.given));
    if (!reader.given)
        return -ENOMEM;
    reader.file = open_settings(path);
    if (!reader.file) {
        int err = -errno;
        free(reader.given);
        log_error("cannot read configuration file=%s error=\"%s\"", path, strerror(-err));
        return err;
    }
    // The handler's own argument and the stream are both the reader.
    int bad_line = ini_parse_stream(config_read_line, &reader, take_setting, &reader);
    if (bad_line) {
        log_error("%s:%d: not understood; expected [section] or name = value", path,
                  bad_line < 0 ? 0 : bad_line);
        reader.errors++;
    }
    fclose(reader.file);
    free(reader.given);
    return reader.errors ? -EINVAL : 0;
}

static const struct config_option *match_argument(const struct config_option *table,
                                                  const char *argument, const char **value)
{
    for (; table->section; table++)
        if (config_argument_is(argument, table->name, value))
            return table;
    return NULL;
}

int config_command_line(const struct config_option *table, int *argc, char **argv, void *settings)
{
    int kept = 1;

    for (int i = 1; i < *argc; i++) {
        const char *value;
        if (!strcmp(argv[i], "--")) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        const struct config_option *option = match_argument(table, argv[i], &value);
        bool alone = false;
        if (!option && config_retired_argument(retired_of(table), argv[i], &alone)) {
            i += alone && i + 1 < *argc;
            continue;
        }
        if (!option) {
            argv[kept++] = argv[i];
            continue;
        }
        char where[128];
        config_argument_place(argv[i], where, sizeof(where));
        if (!value && option->type == CONFIG_TYPE_BOOL && !is_bool(argv[i + 1]))
            value = "yes";
        if (!value && i + 1 < *argc)
            value = argv[++i];
        if (!value) {
            log_error("%s: a value is missing", where);
            return -EINVAL;
        }
        int err = config_store(option, value, where, settings);
        if (err)
            return err;
    }
    argv[kept] = NULL;
    *argc = kept;
    return 0;
}

void config_clear(const struct config_option *table, void *settings)
{
    for (; table->section; table++) {
        void *field = field_of(table, settings);
        if (table->type == CONFIG_TYPE_STRING) {
            free(*(char **)field);
            *(char **)field = NULL;
        } else if (table->type == CONFIG_TYPE_LIST) {
            config_free_list(*(char ***)field);
            *(char ***)field = NULL;
        }
    }
}

static size_t field_size(enum config_type type)
{
    switch (type) {
    case CONFIG_TYPE_BOOL: return sizeof(bool);
    case CONFIG_TYPE_ENUM: return sizeof(int);
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_SIZE:
    case CONFIG_TYPE_DURATION: return sizeof(uint64_t);
    case CONFIG_TYPE_STRING:
    case CONFIG_TYPE_LIST: return sizeof(void *);
    }
    return 0;
}

void config_take_reloadable(const struct config_option *table, void *current, void *fresh)
{
    for (; table->section; table++) {
        char kept[sizeof(uint64_t)];
        size_t size = field_size(table->type);
        if (!table->reloadable)
            continue;
        memcpy(kept, field_of(table, current), size);
        memcpy(field_of(table, current), field_of(table, fresh), size);
        memcpy(field_of(table, fresh), kept, size);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// A line is formatted on the stack and written with one system call.
#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

enum log_level log_threshold = LOG_LEVEL_WARN;

static const char *log_ident = "rgpu";
static int log_fd = STDERR_FILENO;
static bool log_to_journal;
static __thread char thread_context[64];

static const struct {
    const char *name;
    int priority; // syslog(3) number for the journal
} levels[] = {
    [LOG_LEVEL_OFF] = {"off", 0},     [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warn", 4},   [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7}, [LOG_LEVEL_TRACE] = {"trace", 7},
};

void log_init(const char *ident, enum log_level default_level)
{
    log_ident = ident;
    log_threshold = default_level;
    log_to_journal = secure_getenv("JOURNAL_STREAM") != NULL;
    log_level_from_environment();
}

void log_level_from_environment(void)
{
    const char *word = secure_getenv("RGPU_LOG");
    enum log_level level;

    if (!word || !*word)
        return;
    if (log_level_parse(word, &level))
        log_warn("unknown log level RGPU_LOG=%s (off, error, warn, info, debug, trace)", word);
    else
        log_threshold = level;
}

void log_set_level(enum log_level level)
{
    log_threshold = level;
}

void log_set_fd(int fd)
{
    log_fd = fd;
}

int log_get_fd(void)
{
    return log_fd;
}

int log_level_parse(const char *word, enum log_level *out)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (!strcmp(word, levels[i].name)) {
            *out = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

void log_set_thread_context(const char *context)
{
    snprintf(thread_context, sizeof(thread_context), "%s", context ? context : "");
}

static size_t write_prefix(char *line, size_t size, enum log_level level)
{
    const char *gap = thread_context[0] ? " " : "";
    int n;

    if (log_to_journal)
        n = snprintf(line, size, "<%d>%s%s", levels[level].priority, thread_context, gap);
    else
        n = snprintf(line, size, "%s: %s: %s%s", log_ident, levels[level].name, thread_context,
                     gap);
    return n < 0 ? 0 : (size_t)n;
}

// Peers name themselves in our lines; a control character there must not forge a line.
static void blank_control_characters(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = ' ';
}

void log_write(enum log_level level, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    size_t used = write_prefix(line, sizeof(line) / 2, level);
    int saved_errno = errno;
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line + used, sizeof(line) - used, format, args);
    va_end(args);
    if (n < 0)
        n = 0;
    used += (size_t)n;
    if (used > sizeof(line) - 1)
        used = sizeof(line) - 1;
    blank_control_characters(line, used);
    line[used++] = '\n';

    // A log that cannot be written must never stop the program.
    ssize_t ignored = write(log_fd, line, used);
    (void)ignored;
    errno = saved_errno;
}

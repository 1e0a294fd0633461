// SPDX-License-Identifier: BSD-3-Clause
// Log lines: lowercase text with name=value pairs, one write() for each line.
//
// Lines go to standard error as "ident: level: text". Under systemd (JOURNAL_STREAM is set) they
// begin with the journal's priority "<N>" instead of the level. log_write and the macros are
// thread-safe; call log_init and log_set_* at program start.
#ifndef RGPU_COMMON_LOG_H
#define RGPU_COMMON_LOG_H

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_OFF = 0,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_TRACE,
};

// Highest level that is written. The macros read it, so that a suppressed line costs one load.
extern enum log_level log_threshold;

// Sets the program's name in every line, which must stay valid, and the level unless RGPU_LOG or
// log_set_level sets another. A program that never calls this logs warnings and errors.
void log_init(const char *ident, enum log_level default_level);

// Sets the level from the environment variable RGPU_LOG if it is set. An unknown word is logged
// once.
void log_level_from_environment(void);

void log_set_level(enum log_level level);

// Writes lines to FD instead of standard error.
void log_set_fd(int fd);
int log_get_fd(void);

// Parses "error", "warn", ... Returns 0 or -EINVAL.
int log_level_parse(const char *word, enum log_level *out) __attribute__((warn_unused_result));

// Sets a prefix for all lines of the calling thread, such as "session=17"; NULL: none. At most 63
// bytes are copied.
void log_set_thread_context(const char *context);

void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

#define log_at(level, ...) \
    do { \
        if (__builtin_expect((level) <= log_threshold, 0)) \
            log_write((level), __VA_ARGS__); \
    } while (0)

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_trace(...) log_at(LOG_LEVEL_TRACE, __VA_ARGS__)

#endif

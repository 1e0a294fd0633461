// SPDX-License-Identifier: BSD-3-Clause
// Structured log lines: one write per line, lowercase text with name=value pairs.
//
// Lines go to standard error as "ident: level: text". Under systemd (JOURNAL_STREAM set) they carry
// the journal's "<N>" priority prefix instead of the words. Every function may be called from
// any thread; log_init and log_set_* are meant for program start.
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

// The level above which lines are dropped; read by the macros, so that a dropped line costs a load.
extern enum log_level log_threshold;

// Names the program in every line and sets the level used unless RGPU_LOG or log_set_level says
// otherwise. IDENT must stay valid. A program that never calls this logs warnings and errors.
void log_init(const char *ident, enum log_level default_level);

// Reads the level from the environment variable RGPU_LOG where it is set.
// An unknown word there is reported once and ignored.
void log_level_from_environment(void);

void log_set_level(enum log_level level);

// Sends lines to FD instead of standard error (tests; a client library with RGPU_LOG_FILE).
void log_set_fd(int fd);
int log_get_fd(void);

// "error", "warn", ...; -EINVAL for another word.
int log_level_parse(const char *word, enum log_level *out) __attribute__((warn_unused_result));
const char *log_level_name(enum log_level level);

// A prefix such as "session=17" put in front of every line of the calling thread; NULL clears it.
// The text is copied (63 bytes at most).
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

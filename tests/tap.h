// SPDX-License-Identifier: BSD-3-Clause
// A small writer of TAP, the text that `prove` reads, for tests written in C. The plan is printed
// at the end, so a test that dies half-way is seen as a failure.
//
//     int main(void)
//     {
//         ok(ring_is_empty(r), "a new ring is empty");
//         is_int(ring_size(r), 4096, "it has the size asked for");
//         return done();
//     }
//
// Every function that checks returns whether the check held. Any thread may check.
#ifndef RGPU_TESTS_TAP_H
#define RGPU_TESTS_TAP_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t tap_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned tap_count;
static unsigned tap_failures;

#define ok(condition, ...) tap_ok(__FILE__, __LINE__, !!(condition), __VA_ARGS__)
#define pass(...) tap_ok(__FILE__, __LINE__, true, __VA_ARGS__)
#define fail(...) tap_ok(__FILE__, __LINE__, false, __VA_ARGS__)
#define is_int(got, want, ...) \
    tap_is_int(__FILE__, __LINE__, (int64_t)(got), (int64_t)(want), __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
#define is_mem(got, want, size, ...) \
    tap_is_mem(__FILE__, __LINE__, (got), (want), (size), __VA_ARGS__)

// Ends the whole test at once: for a set-up step without which nothing can be said.
#define bail(...) tap_bail(__FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 1, 2))) static inline void diag(const char *format, ...)
{
    va_list args;
    char text[1024];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "# %s\n", text);
}

__attribute__((format(printf, 4, 0))) static inline bool
tap_report(const char *file, int line, bool held, const char *format, va_list args)
{
    pthread_mutex_lock(&tap_lock);
    printf("%sok %u - ", held ? "" : "not ", ++tap_count);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    if (!held) {
        tap_failures++;
        fprintf(stderr, "#   failed at %s:%d\n", file, line);
    }
    pthread_mutex_unlock(&tap_lock);
    return held;
}

__attribute__((format(printf, 4, 5))) static inline bool tap_ok(const char *file, int line,
                                                                bool held, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, held, format, args);
    va_end(args);
    return held;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_int(const char *file, int line, int64_t got, int64_t want, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, got == want, format, args);
    va_end(args);
    if (got != want)
        diag("    got: %" PRId64 " (0x%" PRIx64 ")   want: %" PRId64 " (0x%" PRIx64 ")", got,
             (uint64_t)got, want, (uint64_t)want);
    return got == want;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_str(const char *file, int line, const char *got, const char *want, const char *format, ...)
{
    va_list args;
    bool held = got && want ? !strcmp(got, want) : got == want;
    va_start(args, format);
    tap_report(file, line, held, format, args);
    va_end(args);
    if (!held)
        diag("    got: '%s'   want: '%s'", got ? got : "(null)", want ? want : "(null)");
    return held;
}

__attribute__((format(printf, 6, 7))) static inline bool tap_is_mem(const char *file, int line,
                                                                    const void *got,
                                                                    const void *want, size_t size,
                                                                    const char *format, ...)
{
    va_list args;
    const unsigned char *a = (const unsigned char *)got, *b = (const unsigned char *)want;
    size_t at = 0;
    while (at < size && a[at] == b[at])
        at++;
    va_start(args, format);
    tap_report(file, line, at == size, format, args);
    va_end(args);
    if (at < size)
        diag("    byte %zu of %zu: got 0x%02x, want 0x%02x", at, size, a[at], b[at]);
    return at == size;
}

// Counts `checks` checks as skipped; the caller then goes round them.
__attribute__((format(printf, 2, 3))) static inline void skip(unsigned checks, const char *format,
                                                              ...)
{
    va_list args;
    char why[512];
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    pthread_mutex_lock(&tap_lock);
    while (checks--)
        printf("ok %u # SKIP %s\n", ++tap_count, why);
    fflush(stdout);
    pthread_mutex_unlock(&tap_lock);
}

// Leaves the test at once as skipped; only before the first check.
__attribute__((format(printf, 1, 2), noreturn)) static inline void skip_all(const char *format, ...)
{
    va_list args;
    printf("1..0 # SKIP ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    exit(0);
}

__attribute__((format(printf, 3, 4), noreturn)) static inline void
tap_bail(const char *file, int line, const char *format, ...)
{
    va_list args;
    char why[512];
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    pthread_mutex_lock(&tap_lock);
    printf("not ok %u - %s\n1..%u\n", tap_count + 1, why, tap_count + 1);
    fflush(stdout);
    fprintf(stderr, "#   gave up at %s:%d\n", file, line);
    exit(1);
}

// Prints the plan; the value is for `return` from main.
static inline int done(void)
{
    printf("1..%u\n", tap_count);
    fflush(stdout);
    if (tap_failures)
        diag("%u of %u checks failed", tap_failures, tap_count);
    return tap_failures ? 1 : 0;
}

#endif

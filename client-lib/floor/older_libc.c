// SPDX-License-Identifier: BSD-3-Clause
// Functions of the C library that are younger than glibc 2.28, for the libraries that are loaded
// into programs (scripts/make/glibc-floor). This library and OpenSSL's archives call them; nothing
// outside the shared library that contains them sees them.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ---- 2.30 ----

pid_t gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

enum { SLICE_MS = 1000 };

static struct timespec shifted(struct timespec time, int64_t nanoseconds)
{
    int64_t total = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec + nanoseconds;

    return (struct timespec){.tv_sec = (time_t)(total / 1000000000), .tv_nsec = total % 1000000000};
}

static int64_t until(clockid_t clock, const struct timespec *deadline)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)(deadline->tv_sec - now.tv_sec) * 1000000000 + deadline->tv_nsec - now.tv_nsec;
}

// Waits by the wall clock, which is the clock of these conditions in an older C library. It can be
// set meanwhile, so one wait is short; waking up early is allowed.
static int wait_a_slice(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                        const struct timespec *deadline)
{
    int64_t left = until(clock, deadline), slice = (int64_t)SLICE_MS * 1000000;
    struct timespec now;

    if (left <= 0)
        return ETIMEDOUT;
    clock_gettime(CLOCK_REALTIME, &now);
    now = shifted(now, left < slice ? left : slice);
    int err = pthread_cond_timedwait(condition, mutex, &now);
    return err == ETIMEDOUT && until(clock, deadline) > 0 ? 0 : err;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *deadline)
{
    static int (*own)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    static bool searched;

    if (!__atomic_load_n(&searched, __ATOMIC_ACQUIRE)) {
        void *found = dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
        __atomic_store_n((void **)&own, found, __ATOMIC_RELAXED);
        __atomic_store_n(&searched, true, __ATOMIC_RELEASE);
    }
    return own ? own(condition, mutex, clock, deadline)
               : wait_a_slice(condition, mutex, clock, deadline);
}

// ---- 2.33 ----

int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}

int stat(const char *path, struct stat *out)
{
    return fstatat(AT_FDCWD, path, out, 0);
}

int lstat(const char *path, struct stat *out)
{
    return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

// ---- 2.38: what its headers make of these calls ----

long __isoc23_strtol(const char *text, char **end, int base);
unsigned long __isoc23_strtoul(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...);
long older_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long older_strtoul(const char *text, char **end, int base) __asm__("strtoul");
long long older_strtoll(const char *text, char **end, int base) __asm__("strtoll");
unsigned long long older_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int older_vsscanf(const char *text, const char *format,
                  va_list arguments) __asm__("__isoc99_vsscanf");

long __isoc23_strtol(const char *text, char **end, int base)
{
    return older_strtol(text, end, base);
}

unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
    return older_strtoul(text, end, base);
}

long long __isoc23_strtoll(const char *text, char **end, int base)
{
    return older_strtoll(text, end, base);
}

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
    return older_strtoull(text, end, base);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int count = older_vsscanf(text, format, arguments);
    va_end(arguments);
    return count;
}

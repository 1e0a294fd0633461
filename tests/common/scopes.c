// SPDX-License-Identifier: BSD-3-Clause
// A scope releases its resources on every exit, the last one first, and keeps a resource that was
// taken out of it.
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/scope.h"
#include "tests/tap.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static bool is_free(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex))
        return false;
    pthread_mutex_unlock(mutex);
    return true;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int some_file(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        bail("cannot open /dev/null");
    return fd;
}

static bool held_until_returned(bool early)
{
    SCOPED_LOCK(&outer);
    if (early)
        return !is_free(&outer);
    SCOPED_LOCK(&inner);
    return !is_free(&outer) && !is_free(&inner);
}

static void leave_loops(void)
{
    for (int i = 0; i < 3; i++) {
        SCOPED_LOCK(&outer);
        if (i == 1)
            break;
        continue;
    }
    {
        SCOPED_LOCK(&inner);
        goto out;
    }
out:;
}

static void note(bool **seen)
{
    **seen = is_free(&outer);
}

// A variable declared before the lock is released after it.
static bool freed_without_the_lock(void)
{
    bool seen = false;
    {
        bool *watch __attribute__((cleanup(note))) = &seen;
        SCOPED_LOCK(&outer);
        *watch = false;
    }
    return seen;
}

static int close_at_the_end(int *number)
{
    SCOPED_FD int none = -1;
    SCOPED_FD int fd = some_file();

    *number = fd;
    errno = ERANGE;
    return none;
}

static int taken_fd(void)
{
    SCOPED_FD int fd = some_file();

    return scoped_take_fd(&fd);
}

static int file_number(void)
{
    SCOPED_FILE FILE *none = NULL;
    SCOPED_FILE FILE *file = fopen("/dev/null", "re");

    if (!file || none)
        bail("cannot open /dev/null");
    return fileno(file);
}

static char *taken_text(const char *text)
{
    SCOPED_FREE char *freed = strdup(text);
    SCOPED_FREE char *copy = strdup(text);

    return freed ? scoped_take(&copy) : NULL;
}

int main(void)
{
    int number = -1;

    ok(held_until_returned(true), "the lock is held as long as the scope is not left");
    ok(held_until_returned(false), "a second one, too");
    ok(is_free(&outer) && is_free(&inner), "returning gives both back");
    leave_loops();
    ok(is_free(&outer) && is_free(&inner), "so do break, continue and goto");
    ok(freed_without_the_lock(), "what was declared before the lock is given back without it");
    is_int(close_at_the_end(&number), -1, "no descriptor is none to close");
    is_int(errno, ERANGE, "errno stays as the function left it");
    ok(number >= 0 && !is_open(number), "a descriptor is closed");
    number = taken_fd();
    ok(is_open(number), "one that was taken stays open");
    close(number);
    ok(!is_open(file_number()), "a file is closed");
    char *text = taken_text("kept");
    ok(text && !strcmp(text, "kept"), "memory that was taken is not freed");
    free(text);
    return done();
}

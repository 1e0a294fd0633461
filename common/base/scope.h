// SPDX-License-Identifier: BSD-3-Clause
// Variables that release their resource when their scope is left: at its end, or by return, break,
// continue or goto.
//
//     SCOPED_LOCK(&queue->lock);                 // locks here, unlocks at the end of the block
//     SCOPED_FREE char *text = read_all(path);
//     SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
//     SCOPED_FILE FILE *file = fopen(path, "re");
//     *out = scoped_take(&text);                 // success: the caller owns it, nothing is freed
//
// Rules
// - Initialize each variable where it is declared, if only with NULL or -1. No goto or case label
//   may jump over the declaration.
// - The variable declared last is released first. Declare locks after the memory and files that
//   they protect, so that nothing is freed or closed while they are held, and in the locking order.
//   The value of a return statement is computed before anything is released.
// - To unlock early, put the statements that need the lock into a block or function of their own.
//   pthread_cond_wait may be used with a SCOPED_LOCK.
// - longjmp, _exit, exec, pthread_exit and cancellation release nothing, so they must not leave
//   such a scope of a process that continues.
// - Do not fork inside such a scope unless the child ends with _exit or exec: a child that returns
//   would unlock a lock that it does not hold, and write a file's buffer twice.
// - Close a file that was written explicitly, because fclose reports its last error.
#ifndef RGPU_COMMON_SCOPE_H
#define RGPU_COMMON_SCOPE_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_end_free(void *variable)
{
    free(*(void **)variable);
}

// Preserves errno.
static inline void scope_end_fd(int *fd)
{
    int before = errno;

    if (*fd >= 0)
        close(*fd);
    errno = before;
}

static inline void scope_end_file(FILE **file)
{
    int before = errno;

    if (*file)
        fclose(*file);
    errno = before;
}

static inline pthread_mutex_t *scope_begin_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}

static inline void scope_end_lock(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}

#define SCOPED_FREE __attribute__((cleanup(scope_end_free)))
#define SCOPED_FD __attribute__((cleanup(scope_end_fd)))
#define SCOPED_FILE __attribute__((cleanup(scope_end_file)))

// A declaration, so that the compiler rejects it as the body of an if without braces.
#define SCOPED_LOCK(mutex) SCOPED_LOCK_NAMED_(mutex, __COUNTER__)
#define SCOPED_LOCK_NAMED_(mutex, number) SCOPED_LOCK_AS_(mutex, number)
#define SCOPED_LOCK_AS_(mutex, number) \
    pthread_mutex_t *scoped_lock_##number \
        __attribute__((cleanup(scope_end_lock), unused)) = scope_begin_lock(mutex)

// Returns the pointer in VARIABLE and sets VARIABLE to NULL, so that nothing is freed or closed.
#define scoped_take(variable) \
    __extension__({ \
        __typeof__(variable) scoped_from = (variable); \
        __typeof__(*scoped_from) scoped_taken = *scoped_from; \
        *scoped_from = NULL; \
        scoped_taken; \
    })

// As scoped_take(), for a descriptor; sets *FD to -1.
static inline int scoped_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif

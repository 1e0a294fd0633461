// SPDX-License-Identifier: BSD-3-Clause
// Variables that release their resource when their scope is left: at its end, or by return, break,
// continue or goto. No exit can forget an unlock, a close or a free.
//
//     SCOPED_LOCK(&queue->lock);                 // locks here, unlocks at the end of the block
//     SCOPED_FREE char *text = read_all(path);
//     SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
//     SCOPED_FILE FILE *file = fopen(path, "re");
//     *out = scoped_take(&text);                 // success: the caller has it, nothing is freed
//
// Rules
// - Each variable is initialised where it is declared, with NULL or -1 if there is no value yet. No
//   goto or case label jumps over the declaration, or the scope would release garbage from the
//   stack.
// - The variable declared last is released first. Locks are declared after the memory and files
//   that they protect, so that nothing is freed or closed under a lock needlessly, and in the order
//   in which every other function takes them. The value of a return is computed under the lock,
//   before anything is released.
// - To unlock before the end of a function, put the statements that need the lock into a block or a
//   function of their own; there is no early unlock. A thread that waits with pthread_cond_wait may
//   hold a SCOPED_LOCK.
// - longjmp, _exit, exec, pthread_exit and cancellation release nothing: none of them may leave
//   such a scope of a process that continues.
// - No fork inside such a scope, unless the child ends with _exit or exec: a child that returned
//   would unlock a lock that it does not hold, and write a file's buffer a second time.
// - A file that is written is closed by hand, since its last error comes from fclose.
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

// errno stays as the function that is left has set it.
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

// A declaration, so that the compiler refuses it as the body of an if without braces, which it
// would not protect.
#define SCOPED_LOCK(mutex) SCOPED_LOCK_NAMED_(mutex, __COUNTER__)
#define SCOPED_LOCK_NAMED_(mutex, number) SCOPED_LOCK_AS_(mutex, number)
#define SCOPED_LOCK_AS_(mutex, number) \
    pthread_mutex_t *scoped_lock_##number \
        __attribute__((cleanup(scope_end_lock), unused)) = scope_begin_lock(mutex)

// The pointer that VARIABLE holds, which is NULL from then on and frees or closes nothing.
#define scoped_take(variable) \
    __extension__({ \
        __typeof__(variable) scoped_from = (variable); \
        __typeof__(*scoped_from) scoped_taken = *scoped_from; \
        *scoped_from = NULL; \
        scoped_taken; \
    })

// The same for a descriptor, which is -1 from then on.
static inline int scoped_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif

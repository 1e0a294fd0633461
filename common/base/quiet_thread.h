// SPDX-License-Identifier: BSD-3-Clause
// Threads of a library in a process of a stranger. Signals are for the program's own threads; but a
// fault in memory of the program is raised where it occurs, and reaches the handler that the
// program has for it.
#ifndef RGPU_COMMON_QUIET_THREAD_H
#define RGPU_COMMON_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

// Blocks all signals but faults in the calling thread, until it sets *BEFORE again.
static inline void quiet_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t set;

    sigfillset(&set);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, before);
}

// Starts a thread that gets no signals. Returns 0 or -errno.
static inline int quiet_thread_start(pthread_t *thread, void *(*routine)(void *argument),
                                     void *argument)
{
    sigset_t before;

    quiet_signals(&before);
    int err = pthread_create(thread, NULL, routine, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

#endif

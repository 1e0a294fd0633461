// SPDX-License-Identifier: BSD-3-Clause
// Threads of a library within a program. They block signals, which are for the program's threads,
// except faults: a fault in memory of the program must reach the program's handler.
#ifndef RGPU_COMMON_QUIET_THREAD_H
#define RGPU_COMMON_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

// Blocks all signals but faults in the calling thread. The caller restores *BEFORE.
static inline void quiet_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t set;

    sigfillset(&set);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, before);
}

// Starts such a thread. Returns 0 or -errno.
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

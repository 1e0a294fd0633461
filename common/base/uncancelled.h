// SPDX-License-Identifier: BSD-3-Clause
// Functions that programs call begin with SCOPED_UNCANCELLED. A thread cancelled inside would leave
// locks held, keep other threads from reading the link, and leave a waiter on a freed stack.
#ifndef RGPU_COMMON_UNCANCELLED_H
#define RGPU_COMMON_UNCANCELLED_H

#include <pthread.h>

static inline int uncancelled_begin(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void uncancelled_end(const int *before)
{
    pthread_setcancelstate(*before, NULL);
}

// A declaration: the thread is not cancelled before the scope ends.
#define SCOPED_UNCANCELLED \
    int scoped_cancel_state __attribute__((cleanup(uncancelled_end), unused)) = uncancelled_begin()

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Protects API functions against cancellation of their thread (pthread_cancel), which would leave
// locks held. Every exported function begins with SCOPED_UNCANCELLED.
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

// Disables cancellation until the scope ends.
#define SCOPED_UNCANCELLED \
    int scoped_cancel_state __attribute__((cleanup(uncancelled_end), unused)) = uncancelled_begin()

#endif

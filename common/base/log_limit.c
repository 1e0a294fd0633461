// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/log_limit.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

// One lock for all: a line that is left out is the cheap case, and holds it for a moment.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool log_limit_take(struct log_limit *limit, uint64_t *left_out)
{
    int64_t now = clock_ms() / 1000;

    SCOPED_LOCK(&lock);
    if (limit->written == 0 || now - limit->since >= (int64_t)limit->seconds) {
        limit->since = now;
        limit->written = 0;
    }
    bool allowed = limit->written < limit->burst;
    *left_out = limit->left_out;
    limit->written += allowed;
    limit->left_out = allowed ? 0 : limit->left_out + 1;
    return allowed;
}

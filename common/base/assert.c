// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/assert.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/log_limit.h"

void assert_broken(const char *condition, const char *file, int line)
{
    static struct log_limit lines = LOG_LIMIT(5, 60);

    log_limited(&lines, LOG_LEVEL_ERROR, "broken invariant, please report it: %s at=%s:%d",
                condition, file, line);
#ifdef RGPU_ASSERT_ENDS
    abort();
#endif
}

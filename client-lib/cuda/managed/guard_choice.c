// SPDX-License-Identifier: BSD-3-Clause
// Implements guard_choice.h.
#include "client-lib/cuda/managed/guard_choice.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

const struct guard *guard_choose(const struct guard_client *client)
{
    static const struct guard *const guards[] = {&guard_userfaultfd, &guard_signals};
    const char *wanted = secure_getenv("RGPU_MANAGED_FAULTS");
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++) {
        if (wanted && *wanted && strcmp(wanted, guards[i]->name) != 0)
            continue;
        if (guards[i]->start(client)) {
            log_info("managed memory faults=%s", guards[i]->name);
            return guards[i];
        }
    }
    log_error("no way to catch faults in managed memory RGPU_MANAGED_FAULTS=%s",
              wanted ? wanted : "");
    return NULL;
}

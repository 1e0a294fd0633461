// SPDX-License-Identifier: BSD-3-Clause
#include "broker/replication/log_keys.h"

#include <unistd.h>

#include "common/base/log.h"

enum { EXIT_LEAD_LOST = 3 };

void lead_lost(const char *why)
{
    log_error("this broker does not lead any more (%s): it ends, and follows the log when it is "
              "started again",
              why);
    _exit(EXIT_LEAD_LOST);
}

const json_t *log_response(const json_t *answer, size_t number)
{
    const json_t *one = json_array_get(json_object_get(answer, "responses"), number);

    return json_object_get(one, "response_range");
}

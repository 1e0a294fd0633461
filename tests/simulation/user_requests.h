// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_USER_REQUESTS_H
#define RGPU_TEST_USER_REQUESTS_H

#include <jansson.h>

#include "tests/simulation/world.h"

// Returns the body of an acquire. OWNER -1: the sender.
json_t *user_request(struct dice *dice, const char *key, int owner);

#endif

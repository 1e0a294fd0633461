// SPDX-License-Identifier: BSD-3-Clause
// Chooses the guard of this process.
#ifndef RGPU_CLIENT_GUARD_CHOICE_H
#define RGPU_CLIENT_GUARD_CHOICE_H

#include "client-lib/cuda/managed/guard.h"

// Starts the best guard that works in this process, with CLIENT, and returns it; NULL if none
// works.
const struct guard *guard_choose(const struct guard_client *client);

#endif

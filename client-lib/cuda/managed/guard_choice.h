// SPDX-License-Identifier: BSD-3-Clause
// Chooses the guard of this process.
#ifndef RGPU_CLIENT_GUARD_CHOICE_H
#define RGPU_CLIENT_GUARD_CHOICE_H

#include "client-lib/cuda/managed/guard.h"

// Returns the best guard that starts here, or NULL if none does.
const struct guard *guard_choose(const struct guard_client *client);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Which guard this process uses.
#ifndef RGPU_CLIENT_GUARD_CHOICE_H
#define RGPU_CLIENT_GUARD_CHOICE_H

#include "client-lib/managed/guard.h"

// The best one that starts here; NULL: there is none.
const struct guard *guard_choose(const struct guard_client *client);

#endif

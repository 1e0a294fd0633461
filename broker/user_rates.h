// SPDX-License-Identifier: BSD-3-Clause
// Limits how fast one user asks the broker.
#ifndef RGPU_BROKER_USER_RATES_H
#define RGPU_BROKER_USER_RATES_H

#include <stdbool.h>

// A thousand programs that start at once ask within a second, and one page or list that is kept up
// to date asks once a second. A request costs the broker about a millisecond of its processor.
enum { USER_REQUESTS_AT_ONCE = 2000, USER_REQUESTS_PER_SECOND = 100 };

struct user_rates;

// NULL: no memory.
struct user_rates *user_rates_new(void);
void user_rates_free(struct user_rates **rates);
// Takes one request off what NAME, a user or an address, may ask. Returns false if nothing is left,
// or without memory.
bool user_rates_take(struct user_rates *rates, const char *name);

#endif

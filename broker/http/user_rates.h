// SPDX-License-Identifier: BSD-3-Clause
// Limits one user's rate of requests and use of the broker's processor.
#ifndef RGPU_BROKER_USER_RATES_H
#define RGPU_BROKER_USER_RATES_H

#include <stdbool.h>
#include <stdint.h>

// A thousand programs that start together send a request each within a second; a page or list that
// follows changes sends one per second. Most requests cost less than a millisecond of processor
// time, but the GPU list of a large pool costs some hundred, so processor time is limited as well.
enum { USER_REQUESTS_AT_ONCE = 2000, USER_REQUESTS_PER_SECOND = 100 };
enum { USER_WORK_MS_AT_ONCE = 1000, USER_WORK_MS_PER_SECOND = 200 };

// The database keeps each lease for the time of history, even after it has ended.
enum { USER_LEASES_AT_ONCE = 1000, USER_LEASES_PER_SECOND = 1 };

struct user_rates;

// Returns NULL without memory.
struct user_rates *user_rates_new(int64_t at_once, int64_t per_second);
void user_rates_free(struct user_rates **rates);
// Takes one request from the quota of NAME, a user or an address. Returns false if the quota of
// requests or of work is used up, or without memory.
bool user_rates_take(struct user_rates *rates, const char *name);
// Returns one request to the quota of NAME.
void user_rates_give(struct user_rates *rates, const char *name);
// Returns true if NAME has work quota left.
bool user_rates_may_work(struct user_rates *rates, const char *name);
// Charges MICROSECONDS of processor time to NAME's work quota, which may become negative.
void user_rates_charge(struct user_rates *rates, const char *name, int64_t microseconds);

#endif

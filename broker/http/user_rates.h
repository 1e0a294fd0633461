// SPDX-License-Identifier: BSD-3-Clause
// Limits the rate of requests and the processor time of each user with token buckets.
#ifndef RGPU_BROKER_USER_RATES_H
#define RGPU_BROKER_USER_RATES_H

#include <stdbool.h>
#include <stdint.h>

// Sizes and refill rates of the buckets. They allow a thousand programs to start together, with one
// request each, and a page to poll once a second. A request usually takes less than a millisecond
// of processor time, but the GPU list of a large pool takes hundreds, so processor time has a
// bucket of its own.
enum { USER_REQUESTS_AT_ONCE = 2000, USER_REQUESTS_PER_SECOND = 100 };
enum { USER_WORK_MS_AT_ONCE = 1000, USER_WORK_MS_PER_SECOND = 200 };

// New leases. The rate is low because the database keeps ended leases for the time of the setting
// history.
enum { USER_LEASES_AT_ONCE = 1000, USER_LEASES_PER_SECOND = 1 };

struct user_rates;

// AT_ONCE: size of a bucket; PER_SECOND: its refill rate. Returns NULL if memory is exhausted.
struct user_rates *user_rates_new(int64_t at_once, int64_t per_second);
void user_rates_free(struct user_rates **rates);
// Takes one request from the quota of NAME, a user or an address. Returns false if the quota of
// requests or of processor time is used up, or if memory is exhausted.
bool user_rates_take(struct user_rates *rates, const char *name);
// Returns one request to the quota of NAME.
void user_rates_give(struct user_rates *rates, const char *name);
// Returns true if the processor time quota of NAME is not used up.
bool user_rates_may_work(struct user_rates *rates, const char *name);
// Charges MICROSECONDS of processor time to the quota of NAME, which may become negative.
void user_rates_charge(struct user_rates *rates, const char *name, int64_t microseconds);

#endif

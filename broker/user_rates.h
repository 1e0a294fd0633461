// SPDX-License-Identifier: BSD-3-Clause
// Limits how fast one user asks the broker, and how much of its processor that takes.
#ifndef RGPU_BROKER_USER_RATES_H
#define RGPU_BROKER_USER_RATES_H

#include <stdbool.h>
#include <stdint.h>

// A thousand programs that start at once ask within a second, and one page or list that is kept up
// to date asks once a second. Most requests cost the broker less than a millisecond of its processor, the list of a
// large pool's GPUs some hundreds, so the processor is counted as well.
enum { USER_REQUESTS_AT_ONCE = 2000, USER_REQUESTS_PER_SECOND = 100 };
enum { USER_WORK_MS_AT_ONCE = 1000, USER_WORK_MS_PER_SECOND = 200 };

// A lease stays in the database for as long as history is kept, also after it has ended.
enum { USER_LEASES_AT_ONCE = 1000, USER_LEASES_PER_SECOND = 1 };

struct user_rates;

// NULL: no memory.
struct user_rates *user_rates_new(int64_t at_once, int64_t per_second);
void user_rates_free(struct user_rates **rates);
// Takes one request off what NAME, a user or an address, may ask. Returns false if nothing is left
// of requests or of work, or without memory.
bool user_rates_take(struct user_rates *rates, const char *name);
// What was taken was not used.
void user_rates_give(struct user_rates *rates, const char *name);
// Returns true if something is left of NAME's work.
bool user_rates_may_work(struct user_rates *rates, const char *name);
// Takes MICROSECONDS of the broker's processor off NAME's work, which may become less than nothing.
void user_rates_charge(struct user_rates *rates, const char *name, int64_t microseconds);

#endif

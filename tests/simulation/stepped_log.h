// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_STEPPED_LOG_H
#define RGPU_TEST_STEPPED_LOG_H

#include <stdint.h>

void stepped_log_set_up(uint64_t seed);
// Syncs take up to MOST nanoseconds from now on.
void stepped_log_slow(int64_t most);

#endif

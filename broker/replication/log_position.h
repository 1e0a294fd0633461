// SPDX-License-Identifier: BSD-3-Clause
// A place in the log of changes.
#ifndef RGPU_BROKER_LOG_POSITION_H
#define RGPU_BROKER_LOG_POSITION_H

#include <stdint.h>

struct log_position {
    uint64_t number, term;
};

#endif

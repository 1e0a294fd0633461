// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's numbers of calls, by the names of libcuda's.
#ifndef RGPU_CUPTI_CALLS_H
#define RGPU_CUPTI_CALLS_H

#include <stdint.h>

// The number of a call of the driver; 0: none is known.
uint32_t driver_call_number(const char *name);
// The number of the call of the runtime that a call of the driver comes from, as most programs make it; 0: none.
uint32_t runtime_call_number(const char *name);
// The name of a call; NULL: no such number is known.
const char *driver_call_name(uint32_t number);
const char *runtime_call_name(uint32_t number);

#endif

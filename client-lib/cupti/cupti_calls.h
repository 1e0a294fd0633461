// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's numbers of calls, found by the names of libcuda's calls.
#ifndef RGPU_CUPTI_CALLS_H
#define RGPU_CUPTI_CALLS_H

#include <stdint.h>

// Returns CUPTI's number of a driver call; 0: unknown.
uint32_t driver_call_number(const char *name);
// Returns the number of the runtime call that usually makes this driver call; 0: none.
uint32_t runtime_call_number(const char *name);
// Returns the name of a call; NULL: the number is unknown.
const char *driver_call_name(uint32_t number);
const char *runtime_call_name(uint32_t number);

#endif

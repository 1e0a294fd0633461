// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's numbers of driver and runtime calls (CUPTI_DRIVER_TRACE_CBID_...,
// CUPTI_RUNTIME_TRACE_CBID_...), found by the names of libcuda's calls.
#ifndef RGPU_CUPTI_CALLS_H
#define RGPU_CUPTI_CALLS_H

#include <stdint.h>

// Returns CUPTI's number of a driver call; 0: CUPTI has none.
uint32_t driver_call_number(const char *name);
// Returns the number of the runtime call that usually makes this driver call; 0: none.
uint32_t runtime_call_number(const char *name);
// Return the name of a call, a constant; NULL: the number is unknown.
const char *driver_call_name(uint32_t number);
const char *runtime_call_name(uint32_t number);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// See cupti_calls.h. Programs call the CUDA runtime, which calls the driver's library; the latter
// cannot distinguish calls of the runtime from the program's own. Profilers look for the runtime's
// calls, so calls that give the GPU work or wait for it are recorded under the runtime's names.
#include "client-lib/cupti/cupti_calls.h"

#include <stdlib.h>
#include <string.h>

static const struct known_call {
    const char *driver; // in the order of these names
    uint32_t driver_number;
    const char *runtime; // NULL: profilers see no call of the runtime
    uint32_t runtime_number;
} calls[] = {
#include "cupti_numbers.h"
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static int compare_name(const void *name, const void *call)
{
    return strcmp(name, ((const struct known_call *)call)->driver);
}

static const struct known_call *call_find(const char *name)
{
    return bsearch(name, calls, CALLS, sizeof(calls[0]), compare_name);
}

uint32_t driver_call_number(const char *name)
{
    const struct known_call *call = call_find(name);
    return call ? call->driver_number : 0;
}

uint32_t runtime_call_number(const char *name)
{
    const struct known_call *call = call_find(name);
    return call ? call->runtime_number : 0;
}

const char *driver_call_name(uint32_t number)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].driver_number == number)
            return calls[i].driver;
    return NULL;
}

const char *runtime_call_name(uint32_t number)
{
    for (size_t i = 0; i < CALLS; i++)
        if (number && calls[i].runtime_number == number)
            return calls[i].runtime;
    return NULL;
}

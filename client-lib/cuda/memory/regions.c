// SPDX-License-Identifier: BSD-3-Clause
// Each region is a mapping in this process and one in the worker. The kernel limits the mappings of
// a process (65,530 unless configured), and a process without free mappings could not even launch a
// kernel, so a part of them is kept for other uses.
#include "client-lib/cuda/memory/regions.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"

enum { MAPPINGS_PRESET = 65530 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[WIRE_REGION_LIMIT];
static uint32_t count, latest, limit;

// Three quarters of the mappings that a process may have.
static uint32_t read_limit(void)
{
    char text[32];
    unsigned long mappings = 0;
    SCOPED_FILE FILE *file = descriptor_open_file("/proc/sys/vm/max_map_count", "r");
    if (file && fgets(text, sizeof(text), file))
        mappings = strtoul(text, NULL, 10);
    unsigned long most = (mappings ? mappings : MAPPINGS_PRESET) / 4 * 3;
    return most < WIRE_REGION_LIMIT - 1 ? (uint32_t)most : WIRE_REGION_LIMIT - 1;
}

uint32_t region_take(void)
{
    SCOPED_LOCK(&lock);
    if (!limit)
        limit = read_limit();
    if (count >= limit) {
        log_warn(
            "no more host memory is mapped: this process has three quarters of the mappings that "
            "vm.max_map_count allows regions=%u",
            count);
        return 0;
    }
    do
        latest = latest % (WIRE_REGION_LIMIT - 1) + 1;
    while (taken[latest]);
    taken[latest] = true;
    count++;
    return latest;
}

void region_give(uint32_t number)
{
    SCOPED_LOCK(&lock);
    count -= taken[number];
    taken[number] = false;
}

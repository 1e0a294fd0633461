// SPDX-License-Identifier: BSD-3-Clause
// The kernel would grant shared memory beyond the available memory, and kill processes later.
#include "common/base/available.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/descriptor.h"

static uint64_t host_available(void)
{
    uint64_t kib, found = UINT64_MAX;
    char line[128];
    FILE *file = descriptor_open_file("/proc/meminfo", "r");

    while (file && found == UINT64_MAX && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            found = kib << 10;
    if (file)
        fclose(file);
    return found;
}

// The number in a file of a group; false: there is none, as of a group without a limit.
static bool available_read_number(const char *group, const char *name, uint64_t *out)
{
    char path[PATH_MAX], line[32];
    int length = snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", group, name);
    FILE *file = length < (int)sizeof(path) ? descriptor_open_file(path, "r") : NULL;
    bool found = file && fgets(line, sizeof(line), file) && sscanf(line, "%" SCNu64, out) == 1;

    if (file)
        fclose(file);
    return found;
}

static uint64_t group_available(const char *group)
{
    uint64_t limit, used;

    if (!available_read_number(group, "memory.max", &limit) ||
        !available_read_number(group, "memory.current", &used))
        return UINT64_MAX;
    return used < limit ? limit - used : 0;
}

// The group of this process, as "/a/b"; false: it is in none.
static bool own_group(char *out, int size)
{
    char line[PATH_MAX];
    bool found = false;
    FILE *file = descriptor_open_file("/proc/self/cgroup", "r");

    while (file && !found && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        found = !strncmp(line, "0::/", 4);
        if (found)
            snprintf(out, (size_t)size, "%s", line + 3);
    }
    if (file)
        fclose(file);
    return found;
}

uint64_t memory_available(void)
{
    uint64_t least = host_available();
    char group[PATH_MAX];

    if (!own_group(group, sizeof(group)))
        return least;
    for (char *end = group + strlen(group); end && end > group; end = strrchr(group, '/')) {
        *end = '\0';
        uint64_t left = group_available(group);
        least = left < least ? left : least;
    }
    return least;
}

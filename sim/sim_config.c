// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sim_config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/log.h"
#include "sim/uuid.h"

int sim_config_size(const char *text, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *text == '-')
        return -EINVAL;
    unsigned shift = 0;
    switch (*end) {
    case 'k':
    case 'K':
        shift = 10;
        end++;
        break;
    case 'm':
    case 'M':
        shift = 20;
        end++;
        break;
    case 'g':
    case 'G':
        shift = 30;
        end++;
        break;
    case 't':
    case 'T':
        shift = 40;
        end++;
        break;
    case '\0': break;
    }
    if (*end || value > (SIZE_MAX >> 8) >> shift)
        return -EINVAL;
    *out = (size_t)value << shift;
    return 0;
}

static int sim_config_read_size(const char *name, size_t preset, size_t least, size_t most,
                                size_t *out)
{
    const char *text = getenv(name);
    *out = preset;
    if (!text || !*text)
        return 0;
    if (sim_config_size(text, out) || *out < least || *out > most) {
        log_error("setting not understood, name=%s value=\"%s\"", name, text);
        return -EINVAL;
    }
    return 0;
}

// Reads "SIZE,..."; the last size applies to all further GPUs.
static int read_memory(size_t memory[SIM_MAX_DEVICES])
{
    const char *text = getenv("RGPU_SIM_MEMORY"), *at = text;
    size_t size = (size_t)4 << 30;
    char entry[32];

    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        size_t length = at ? strcspn(at, ",") : 0;
        if (length && length < sizeof(entry)) {
            snprintf(entry, sizeof(entry), "%.*s", (int)length, at);
            if (sim_config_size(entry, &size))
                size = 0;
        }
        if (length >= sizeof(entry) || size < (size_t)1 << 20 || size > (size_t)1 << 40) {
            log_error("setting not understood, name=RGPU_SIM_MEMORY value=\"%s\"", text);
            return -EINVAL;
        }
        memory[i] = size;
        at = length && at[length] ? at + length + 1 : NULL;
    }
    return 0;
}

static int sim_config_find_uuid(const char *text, size_t length, int first, int end)
{
    int found = -1;
    for (int i = first; i < end; i++) {
        char uuid[40];
        sim_uuid_text(i, uuid);
        if (length > strlen(uuid) || strncasecmp(uuid, text, length) != 0)
            continue;
        if (found >= 0)
            return -1; // the entry is ambiguous
        found = i;
    }
    return found;
}

// Returns true if the entry begins with the same prefix as the list's first entry.
static bool same_naming(const char *entry, const char *first)
{
    for (int i = 0; i < 2; i++) {
        const char *prefix = i ? "MIG-" : "GPU-";
        if (!strncasecmp(entry, prefix, 4) != !strncasecmp(first, prefix, 4))
            return false;
    }
    return true;
}

// Finds the device of one entry of CUDA_VISIBLE_DEVICES: an index, or "GPU-" or "MIG-" and the
// start of a UUID. Returns -1 if unknown.
static int find_visible(const struct sim_config *config, const char *entry, size_t length)
{
    int count = config->gpu_count;
    char *end;

    if (length > 4 && !strncasecmp(entry, "GPU-", 4))
        return sim_config_find_uuid(entry + 4, length - 4, 0, count);
    if (length > 4 && !strncasecmp(entry, "MIG-", 4))
        return sim_config_find_uuid(entry + 4, length - 4, count, count + config->instance_count);
    long index = strtol(entry, &end, 10);
    return end != entry && index >= 0 && index < count ? (int)index : -1;
}

// Shows all whole GPUs or, if there are none, a single instance, as the real driver does.
static void show_all(struct sim_config *config)
{
    for (int i = 0; i < config->gpu_count; i++)
        if (!config->parts[i])
            config->ordinals[config->device_count++] = i;
    if (!config->device_count && config->instance_count)
        config->ordinals[config->device_count++] = config->gpu_count;
}

// Returns the first instance of a partitioned GPU, which stands for it.
static int first_part(const struct sim_config *config, int ordinal)
{
    int end = config->gpu_count + config->instance_count;

    for (int i = config->gpu_count; config->parts[ordinal] && i < end; i++)
        if (config->parents[i] == ordinal)
            return i;
    return ordinal;
}

// Applies CUDA_VISIBLE_DEVICES as the real driver does: the list ends at the first entry that names
// no device, a device named twice makes all invisible, and an instance is visible alone.
static void apply_visible_devices(struct sim_config *config)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    config->device_count = 0;
    if (!list) {
        show_all(config);
        return;
    }
    const char *naming = list += strspn(list, " ");
    while (*list) {
        list += strspn(list, " ");
        size_t length = strcspn(list, ", ");
        int index = same_naming(list, naming) ? find_visible(config, list, length) : -1;
        if (index < 0)
            return;
        index = first_part(config, index);
        if (config->parents[index] >= 0) {
            config->device_count = 0;
            config->ordinals[config->device_count++] = index;
            return;
        }
        for (int i = 0; i < config->device_count; i++)
            if (config->ordinals[i] == index) {
                config->device_count = 0;
                return;
            }
        config->ordinals[config->device_count++] = index;
        list += strcspn(list, ",");
        list += *list == ',';
    }
}

// Reads "GPU/PARTS,...": the partitioned GPUs and their number of instances.
static int read_partitions(struct sim_config *config)
{
    const char *text = getenv("RGPU_SIM_MIG"), *at = text;
    unsigned gpu, parts;
    int length = 0;

    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        config->parents[i] = -1;
    while (at && *at) {
        if (sscanf(at, "%2u/%2u%n", &gpu, &parts, &length) != 2 ||
            gpu >= (unsigned)config->gpu_count || !parts || config->parts[gpu] ||
            config->gpu_count + config->instance_count + (int)parts > SIM_MAX_DEVICES ||
            (at[length] && at[length] != ',')) {
            log_error("setting not understood, name=RGPU_SIM_MIG value=\"%s\"", text);
            return -EINVAL;
        }
        config->parts[gpu] = (int)parts;
        for (unsigned i = 0; i < parts; i++)
            config->parents[config->gpu_count + config->instance_count++] = (int)gpu;
        at += length + (at[length] == ',');
    }
    return 0;
}

size_t sim_config_memory(const struct sim_config *config, int ordinal)
{
    int parent = config->parents[ordinal];

    return parent < 0 ? config->memory[ordinal]
                      : config->memory[parent] / (size_t)config->parts[parent];
}

void sim_config_name(const struct sim_config *config, int ordinal, char *text, size_t size)
{
    int parent = config->parents[ordinal];

    if (parent < 0)
        snprintf(text, size, "rgpu software GPU");
    else
        snprintf(text, size, "rgpu software GPU MIG 1/%d", config->parts[parent]);
}

static int choose_state_path(struct sim_config *config)
{
    const char *path = getenv("RGPU_SIM_STATE");
    int n =
        path && *path
            ? snprintf(config->state_path, sizeof(config->state_path), "%s%s",
                       strchr(path, '/') || !strncmp(path, "fd:", 3) ? "" : "/dev/shm/rgpu-sim-",
                       path)
            : snprintf(config->state_path, sizeof(config->state_path), "/dev/shm/rgpu-sim-%u",
                       (unsigned)geteuid());
    if (n < 0 || (size_t)n >= sizeof(config->state_path)) {
        log_error("setting not understood, name=RGPU_SIM_STATE value too long");
        return -EINVAL;
    }
    return 0;
}

static int read_capability(unsigned *capability)
{
    const char *text = getenv("RGPU_SIM_CAPABILITY");
    unsigned major = 9, minor = 0;
    int end = 0;

    if (text && *text && (sscanf(text, "%2u.%1u%n", &major, &minor, &end) != 2 || text[end])) {
        log_error("setting not understood, name=RGPU_SIM_CAPABILITY value=\"%s\"", text);
        return -EINVAL;
    }
    *capability = 10 * major + minor;
    return 0;
}

// Sets *out if the setting is YES. NO is the default.
static int read_choice(const char *name, const char *yes, const char *no, bool *out)
{
    const char *text = getenv(name);
    *out = text && strcmp(text, yes) == 0;
    if (!text || !*text || *out || strcmp(text, no) == 0)
        return 0;
    log_error("setting not understood, name=%s value=\"%s\"", name, text);
    return -EINVAL;
}

int sim_config_load(struct sim_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count, threads, lazy, bad;
    memset(config, 0, sizeof(*config));
    if (sim_config_read_size("RGPU_SIM_DEVICES", 1, 0, SIM_MAX_DEVICES, &count) ||
        read_memory(config->memory) ||
        sim_config_read_size("RGPU_SIM_CONTEXT_COST", (size_t)64 << 20, 0, (size_t)1 << 40,
                             &config->context_cost) ||
        sim_config_read_size("RGPU_SIM_LIMIT", 0, 0, (size_t)1 << 40, &config->limit) ||
        sim_config_read_size("RGPU_SIM_CODE", 0, 0, 1024, &config->code) ||
        sim_config_read_size("RGPU_SIM_STREAM_COST", 0, 0, (size_t)1 << 30, &config->stream_cost) ||
        sim_config_read_size("RGPU_SIM_PAGE", 0, 0, (size_t)1 << 30, &config->page) ||
        sim_config_read_size("RGPU_SIM_THREADS", cores > 0 ? (size_t)cores : 1, 1, 1024,
                             &threads) ||
        sim_config_read_size("RGPU_SIM_LAZY", 0, 0, 1, &lazy) ||
        sim_config_read_size("RGPU_SIM_BAD_MEMORY", 0, 0, (1 << SIM_MAX_DEVICES) - 1, &bad) ||
        read_capability(&config->capability) ||
        read_choice("RGPU_SIM_ADDRESSES", "near", "apart", &config->near) ||
        read_choice("RGPU_SIM_STALE", "crash", "refuse", &config->crashes) ||
        choose_state_path(config))
        return -EINVAL;
    config->threads = (unsigned)threads;
    config->lazy = lazy;
    config->bad = (unsigned)bad;
    config->gpu_count = (int)count;
    if (read_partitions(config))
        return -EINVAL;
    apply_visible_devices(config);
    return 0;
}

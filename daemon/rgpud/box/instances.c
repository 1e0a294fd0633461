// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/instances.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

void instances_take(struct instances *instances, const struct monitor_round *round)
{
    *instances = (struct instances){0};
    for (unsigned i = 0; round && i < round->gpu_count; i++) {
        const struct monitor_gpu *gpu = &round->gpus[i];
        if (!*gpu->instance.parent && !gpu->partitioned) {
            snprintf(instances->whole_uuids[instances->whole++], sizeof(gpu->uuid), "%s",
                     gpu->uuid);
        } else if (*gpu->instance.parent && instances->count < BOX_DEVICES_MAX) {
            struct box_instance *one = &instances->list[instances->count++];
            snprintf(one->uuid, sizeof(one->uuid), "%s", gpu->uuid);
            one->memory = gpu->total;
            one->is = gpu->instance;
        } else if (gpu->partitioned) {
            log_info("gpu=%u uuid=%s is divided: its instances are offered", gpu->number,
                     gpu->uuid);
        }
    }
}

// Returns true if all chosen devices are instances. Instances are numbered after GPUs.
bool instances_are_all(const struct instances *instances, const struct device_choice *choice)
{
    bool all = instances->count > 0;

    if (choice->all)
        return all && !instances->whole;
    for (uint32_t i = 0; i < choice->count; i++)
        all = all && choice->ordinals[i] >= instances->whole;
    return all;
}

static int instances_read_uuid(const char *text, uint8_t out[16])
{
    unsigned count = 0;

    if (strncmp(text, "MIG-", 4))
        return -EINVAL;
    for (const char *at = text + 4; *at; at += 2) {
        unsigned byte;
        if (*at == '-')
            at++;
        if (count == 16 || !isxdigit((unsigned char)at[0]) || sscanf(at, "%2x", &byte) != 1 ||
            !isxdigit((unsigned char)at[1]))
            return -EINVAL;
        out[count++] = (uint8_t)byte;
    }
    return count == 16 ? 0 : -EINVAL;
}

int instance_adopt(const struct box_instance *instance, struct box_device *device)
{
    struct control_device *info = &device->info;

    if (instances_read_uuid(instance->uuid, info->uuid)) {
        log_error("instance uuid=%s is none that the driver takes: it needs release 470 or newer",
                  instance->uuid);
        return -ENODEV;
    }
    snprintf(device->uuid, sizeof(device->uuid), "%s", instance->uuid);
    snprintf(info->name, sizeof(info->name), "%s", instance->is.name);
    snprintf(info->pci, sizeof(info->pci), "%s", instance->is.pci);
    for (char *p = info->pci; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    info->memory = instance->memory;
    info->capability = instance->is.capability;
    device->instance = true;
    device->gpu_instance = instance->is.gpu_instance;
    device->compute_instance = instance->is.compute_instance;
    return 0;
}

void instances_visible(const struct instances *instances, const struct box_device *instance,
                       char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    if (instance) {
        snprintf(text, size, "%s", instance->uuid);
        return;
    }
    for (unsigned i = 0; instances->count && i < instances->whole && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                 instances->whole_uuids[i]);
}

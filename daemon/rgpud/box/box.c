// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/box.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "daemon/rgpud/box/instances.h"

static const char *const state_names[] = {
    [BOX_STARTING] = "starting", [BOX_SERVING] = "serving",   [BOX_DRAINING] = "draining",
    [BOX_LEAVING] = "leaving",   [BOX_STOPPING] = "stopping",
};

const char *box_state_name(enum box_state state)
{
    return state_names[state];
}

bool box_accepts_sessions(const struct box *box)
{
    return box->state == BOX_STARTING || box->state == BOX_SERVING;
}

void box_changed(struct box *box)
{
    event_active(box->changed, EV_TIMEOUT, 0);
}

// ---- devices ----

// Fills in a device. Instances are numbered after the GPUs that the driver shows.
static int box_adopt(struct box *box, struct box_device *device, const struct control_ready *ready,
                     uint32_t gpus, uint32_t ordinal)
{
    device->box = box;
    device->ordinal = ordinal;
    if (ordinal >= gpus) {
        int err = instance_adopt(&box->instances->list[ordinal - gpus], device);
        if (err)
            return err;
    } else {
        device->info = ready->devices[ordinal];
        device_uuid_text(device->info.uuid, device->uuid);
    }
    log_info("device ordinal=%u uuid=%s name=\"%s\" memory=%llu pci=%s", ordinal, device->uuid,
             device->info.name, (unsigned long long)device->info.memory, device->info.pci);
    return 0;
}

uint32_t box_first_ordinal(const struct box *box)
{
    const struct device_choice *choice = &box->choice;

    for (uint32_t i = 0; !choice->all && i < choice->count; i++)
        if (!box->instances->count || choice->ordinals[i] < box->instances->whole)
            return choice->ordinals[i];
    return 0;
}

// Returns true if all chosen devices exist. A divided software GPU is not in the driver's list.
static bool has_chosen(const struct box *box, uint32_t gpus, uint32_t all)
{
    const struct device_choice *choice = &box->choice;

    if (!all || (choice->software && gpus != choice->count && !box->instances->count)) {
        log_error("driver=%s has devices=%u", box->driver_path, gpus);
        return false;
    }
    for (uint32_t i = 0; !choice->all && i < choice->count; i++) {
        if (choice->ordinals[i] >= all) {
            log_error("device ordinal=%u does not exist, driver=%s has devices=%u instances=%u",
                      choice->ordinals[i], box->driver_path, gpus, box->instances->count);
            return false;
        }
    }
    return true;
}

int box_adopt_inventory(struct box *box, const struct control_ready *ready)
{
    const struct device_choice *choice = &box->choice;
    uint32_t gpus = ready ? ready->devices_count : box->instances->whole;
    uint32_t all = gpus + box->instances->count;
    uint32_t count = choice->all ? all : choice->count;

    if (count > BOX_DEVICES_MAX)
        count = BOX_DEVICES_MAX;
    if (!has_chosen(box, gpus, all))
        return -ENODEV;
    box->devices = calloc(count, sizeof(*box->devices));
    if (!box->devices)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (box_adopt(box, &box->devices[i], ready, gpus, choice->all ? i : choice->ordinals[i])) {
            free(box->devices);
            box->devices = NULL;
            return -ENODEV;
        }
    box->device_count = count;
    box->devices_known = true;
    return 0;
}

bool box_device_is_open(const struct box *box, uint32_t index)
{
    return !index || !box->devices[index].instance;
}

device_set box_device_set_all(const struct box *box)
{
    device_set set = 0;

    for (uint32_t i = 0; i < box->device_count; i++)
        if (box_device_is_open(box, i))
            set |= UINT64_C(1) << box->devices[i].ordinal;
    return set;
}

device_set box_device_set_usual(const struct box *box, const struct box_device *device)
{
    if (box->settings.auth == AUTH_NONE)
        return box_device_set_all(box);
    return UINT64_C(1) << device->ordinal;
}

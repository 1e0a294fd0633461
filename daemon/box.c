// SPDX-License-Identifier: BSD-3-Clause
// See box.h.
#include "daemon/box.h"

#include <errno.h>
#include <stdlib.h>

#include "common/log.h"

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

static void adopt(struct box *box, struct box_device *device, const struct control_ready *ready,
                  uint32_t ordinal)
{
    device->box = box;
    device->ordinal = ordinal;
    device->info = ready->devices[ordinal];
    device_uuid_text(device->info.uuid, device->uuid);
    log_info("device ordinal=%u uuid=%s name=\"%s\" memory=%llu pci=%s", ordinal, device->uuid,
             device->info.name, (unsigned long long)device->info.memory, device->info.pci);
}

int box_adopt_inventory(struct box *box, const struct control_ready *ready)
{
    const struct device_choice *choice = &box->choice;
    uint32_t count = choice->all ? ready->devices_count : choice->count;

    if (!count || (choice->software && count != choice->count)) {
        log_error("driver=%s has devices=%u", box->driver_path, ready->devices_count);
        return -ENODEV;
    }
    for (uint32_t i = 0; !choice->all && i < count; i++) {
        if (choice->ordinals[i] >= ready->devices_count) {
            log_error("device ordinal=%u does not exist, driver=%s has devices=%u",
                      choice->ordinals[i], box->driver_path, ready->devices_count);
            return -ENODEV;
        }
    }
    box->devices = calloc(count, sizeof(*box->devices));
    if (!box->devices)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        adopt(box, &box->devices[i], ready, choice->all ? i : choice->ordinals[i]);
    box->device_count = count;
    box->devices_known = true;
    return 0;
}

device_set box_device_set_all(const struct box *box)
{
    device_set set = 0;

    for (uint32_t i = 0; i < box->device_count; i++)
        set |= UINT64_C(1) << box->devices[i].ordinal;
    return set;
}

device_set box_device_set_usual(const struct box *box, const struct box_device *device)
{
    if (box->settings.auth == AUTH_NONE)
        return box_device_set_all(box);
    return UINT64_C(1) << device->ordinal;
}

// SPDX-License-Identifier: BSD-3-Clause
// Instances of GPUs that an administrator has divided (MIG). The driver shows a process one of them at most, and only by name,
// so which there are is what the management library says when the box starts. Each is offered as a GPU of its own, and
// nothing here makes or ends any.
#ifndef RGPU_DAEMON_INSTANCES_H
#define RGPU_DAEMON_INSTANCES_H

#include "daemon/gauge.h"

struct instances {
    unsigned whole, count; // GPUs that are not divided, and instances of those that are
    char whole_uuids[GAUGE_GPUS_MAX][48];
    struct box_instance {
        char uuid[48]; // "MIG-..."
        uint64_t memory;
        struct gauge_instance is;
    } list[BOX_DEVICES_MAX];
};

// What the library says before any worker is started. NULL: nothing.
void instances_take(struct instances *instances, const struct gauge_round *round);
// True where no GPU is offered that the driver would show by itself: there is nothing to ask a first worker for.
bool instances_are_all(const struct instances *instances, const struct device_choice *choice);
// Makes the device of the one of that number.
int instance_adopt(const struct box_instance *instance, struct box_device *device)
    __attribute__((warn_unused_result));
// What CUDA_VISIBLE_DEVICES is to be for a worker that sees only INSTANCE, or NULL: GPUs that are not divided. Empty: nothing.
void instances_visible(const struct instances *instances, const struct box_device *instance,
                       char *text, size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// MIG instances of divided GPUs, which the box offers like GPUs. The driver shows a process at most
// one instance, and only by name, so the box gets the list from the management library at start.
// rgpud neither creates nor destroys instances.
#ifndef RGPU_DAEMON_INSTANCES_H
#define RGPU_DAEMON_INSTANCES_H

#include "daemon/rgpud/box/monitor.h"

struct instances {
    unsigned whole, count; // number of undivided GPUs, and of instances
    char whole_uuids[MONITOR_GPUS_MAX][48];
    struct box_instance {
        char uuid[48]; // "MIG-..."
        uint64_t memory;
        struct monitor_instance is;
    } list[BOX_DEVICES_MAX];
};

// Reads the instances from the library's first round, before any worker starts. ROUND NULL: there
// are none.
void instances_take(struct instances *instances, const struct monitor_round *round);
// Returns true if all offered GPUs are instances. There is then no first worker that reports
// devices.
bool instances_are_all(const struct instances *instances, const struct device_choice *choice);
// Fills a box device from an instance. Returns -ENODEV after logging.
int instance_adopt(const struct box_instance *instance, struct box_device *device)
    __attribute__((warn_unused_result));
// Writes the value of CUDA_VISIBLE_DEVICES for a worker to TEXT: the instance, or, if INSTANCE is
// NULL, the undivided GPUs. "": the variable must not be set.
void instances_visible(const struct instances *instances, const struct box_device *instance,
                       char *text, size_t size);

#endif

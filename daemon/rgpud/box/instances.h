// SPDX-License-Identifier: BSD-3-Clause
// Offers instances of divided GPUs (MIG) as GPUs of their own. The driver shows a process at most
// one instance, and only by name. The box therefore gets the list from the management library at
// its start. Nothing here creates or destroys instances.
#ifndef RGPU_DAEMON_INSTANCES_H
#define RGPU_DAEMON_INSTANCES_H

#include "daemon/rgpud/box/monitor.h"

struct instances {
    unsigned whole, count; // GPUs that are not divided, and instances of those that are
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
// Returns true if all offered GPUs are instances. A first worker would have no devices to report
// then.
bool instances_are_all(const struct instances *instances, const struct device_choice *choice);
// Fills a box device from an instance. Returns -ENODEV after logging.
int instance_adopt(const struct box_instance *instance, struct box_device *device)
    __attribute__((warn_unused_result));
// Stores the value of CUDA_VISIBLE_DEVICES for a worker in TEXT. INSTANCE is the only device of the
// worker; if it is NULL, the worker sees the GPUs that are not divided. Empty: not set.
void instances_visible(const struct instances *instances, const struct box_device *instance,
                       char *text, size_t size);

#endif

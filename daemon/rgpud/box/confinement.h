// SPDX-License-Identifier: BSD-3-Clause
// Prepares the confinement of workers: selects their device nodes and logs the protection.
#ifndef RGPU_DAEMON_CONFINEMENT_H
#define RGPU_DAEMON_CONFINEMENT_H

#include "daemon/rgpud/box/box.h"

// The number of nodes that SETUP has space for.
enum {
    CONFINEMENT_NODES_MAX = sizeof((struct control_setup){0}.nodes) /
                            sizeof(struct control_device_node)
};

// Checks the worker users. Returns 0 or -EINVAL after logging.
int confinement_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Protects this process from other processes of its user. Call it before the spawner starts.
// Returns 0 or -errno.
int confinement_set_up(struct box *box) __attribute__((warn_unused_result));
// Logs how this box's workers are protected from each other. Call it after the spawner has
// answered.
void confinement_report(struct box *box);

// Fills NODES with the device nodes for a worker that reaches the devices SEES. Returns their
// number.
size_t confinement_nodes(const struct box *box, device_set sees, struct control_device_node *nodes);

#endif

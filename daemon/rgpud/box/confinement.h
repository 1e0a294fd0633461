// SPDX-License-Identifier: BSD-3-Clause
// Confinement of workers: their device nodes, and a report of their protection. Each worker
// confines itself (daemon/worker/confine).
#ifndef RGPU_DAEMON_CONFINEMENT_H
#define RGPU_DAEMON_CONFINEMENT_H

#include "daemon/rgpud/box/box.h"

// Maximum number of device nodes in a SETUP message.
enum {
    CONFINEMENT_NODES_MAX = sizeof((struct control_setup){0}.nodes) /
                            sizeof(struct control_device_node)
};

// Checks the worker users. Returns 0 or -EINVAL after logging.
int confinement_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Protects this process from other processes of its user. Must be called before the spawner starts.
// Returns 0 or -errno.
int confinement_set_up(struct box *box) __attribute__((warn_unused_result));
// Logs how this box's workers are protected from each other. Must be called after the spawner has
// answered.
void confinement_report(struct box *box);

// Sets NODES to the device nodes for a worker with access to the devices SEES. Returns their
// number.
size_t confinement_nodes(const struct box *box, device_set sees, struct control_device_node *nodes);

#endif

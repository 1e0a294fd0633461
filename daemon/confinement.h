// SPDX-License-Identifier: BSD-3-Clause
// What the supervisor does for the confinement of its workers: device nodes, and what it logs of it.
#ifndef RGPU_DAEMON_CONFINEMENT_H
#define RGPU_DAEMON_CONFINEMENT_H

#include "daemon/box.h"

// As many as SETUP takes.
enum {
    CONFINEMENT_NODES_MAX = sizeof((struct control_setup){0}.nodes) /
                            sizeof(struct control_device_node)
};

// -EINVAL after logging.
int confinement_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Keeps other processes of this user out of this one. Before the spawner is started. -errno.
int confinement_set_up(struct box *box) __attribute__((warn_unused_result));
// Logs what protects this box's workers from each other and what does not. After the spawner has answered.
void confinement_report(struct box *box);

// The device nodes that a worker with those devices may use; their number.
size_t confinement_nodes(const struct box *box, device_set sees, struct control_device_node *nodes);

#endif

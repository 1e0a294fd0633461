// SPDX-License-Identifier: BSD-3-Clause
// What the supervisor does for the confinement of its workers: users, device nodes, what it says about it.
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
// Reads the range of users, and logs once what protects this box's workers from each other and what does
// not. -EINVAL after logging.
int confinement_set_up(struct box *box) __attribute__((warn_unused_result));

// The device nodes that a worker with those devices may use; their number.
size_t confinement_nodes(const struct box *box, device_set sees, struct control_device_node *nodes);

#endif

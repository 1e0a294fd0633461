// What the supervisor does for the confinement of its workers: users, device nodes, what it says about it.
#ifndef RGPU_DAEMON_CONFINEMENT_H
#define RGPU_DAEMON_CONFINEMENT_H

#include "daemon/box.h"

enum { NODES_MAX = 80, NODE_BYTES = 64 };

// Reads the range of users, and logs once what protects this box's workers from each other and what does
// not. -EINVAL after logging.
int confinement_set_up(struct box *box) __attribute__((warn_unused_result));

// A user that no living worker has; 0: workers stay who we are.
uid_t confinement_user(struct box *box);

// The device nodes that a worker with those devices may use; their number.
size_t confinement_nodes(const struct box *box, device_set sees, char nodes[NODES_MAX][NODE_BYTES]);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Builds the SETUP message (proto/control.spec), which has everything that a worker needs. Workers
// get no arguments.
#ifndef RGPU_DAEMON_WORKER_SETUP_H
#define RGPU_DAEMON_WORKER_SETUP_H

#include "daemon/rgpud/box/box.h"

// The properties of a new worker.
struct worker_part {
    uint32_t ordinal; // of the device for its context
    device_set sees;
    struct mps_part limits;
    const char *mps_pipe; // empty: not a client of MPS
    uid_t user;
    const char *client_socket; // name of its sockets
};

// Fills SETUP for one more worker. Each call uses the next value of rdma_turn.
void worker_setup_fill(const struct box *box, const struct worker_part *part,
                       struct control_setup *out);

// Checks the worker settings that the configuration's types do not check. Returns 0 or -EINVAL
// after logging.
int worker_setup_check(const struct box_settings *settings) __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Builds the SETUP message (proto/control.spec) with everything that a worker needs. Workers have
// no command line.
#ifndef RGPU_DAEMON_WORKER_SETUP_H
#define RGPU_DAEMON_WORKER_SETUP_H

#include "daemon/rgpud/box/box.h"

// Properties in which workers differ.
struct worker_part {
    uint32_t ordinal; // device of its context
    device_set sees;
    struct mps_part limits;
    const char *mps_pipe; // "": not a client of MPS
    uid_t user;
    const char *client_socket; // name of its sockets for the client
};

// Fills in the message for a new worker. Each call uses the next value of rdma_turn.
void worker_setup_fill(const struct box *box, const struct worker_part *part,
                       struct control_setup *out);

// Checks worker settings beyond their types. Returns 0, or -EINVAL after logging.
int worker_setup_check(const struct box_settings *settings) __attribute__((warn_unused_result));

#endif

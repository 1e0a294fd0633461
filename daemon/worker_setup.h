// SPDX-License-Identifier: BSD-3-Clause
// What a worker is told: everything, in one message (SETUP of proto/control.spec), and nothing by arguments.
#ifndef RGPU_DAEMON_WORKER_SETUP_H
#define RGPU_DAEMON_WORKER_SETUP_H

#include "daemon/box.h"

// What a worker is to be.
struct worker_part {
    uint32_t ordinal; // of the device whose context it makes
    device_set sees;
    struct mps_part limits;
    const char *mps_pipe; // empty: no client of MPS
    uid_t user;
    const char *client_socket; // name of its sockets
};

// For one more worker: another number of turn each time.
void worker_setup_fill(const struct box *box, const struct worker_part *part,
                       struct control_setup *out);

// The settings for workers that the types of the configuration do not check. -EINVAL after logging.
int worker_setup_check(const struct box_settings *settings) __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What the supervisor tells this worker before anything else: the SETUP message of proto/control.spec, which
// waits on an inherited descriptor. It is all that a worker is told, besides its environment.
#ifndef RGPU_WORKER_SETUP_H
#define RGPU_WORKER_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/control.h"

// Written by setup_receive() and confine(), before there are threads, and then read by whoever likes.
extern struct control_setup setup;

// Whether a supervisor is at the other end of the descriptor that a worker inherits.
bool setup_is_offered(void);
// Waits for the message. spin_us is then what suits the machine where the setting leaves that open. -ECONNRESET:
// the supervisor has gone; -EPROTO or -EBADMSG: it says something else, or is of another version.
int setup_receive(void) __attribute__((warn_unused_result));

// Whether sessions may use the transport of that name, so that the worker is to be ready for it.
bool setup_wants_transport(const char *name);

static inline uint32_t setup_spin_us(void)
{
    return (uint32_t)setup.worker.spin_us;
}

static inline bool setup_block_size_is_auto(void)
{
    return !setup.worker.block_size;
}

// Whether the site's NCCL may run here, which connects to other workers by itself. Connections of a client of an MPS daemon
// are made by the supervisor instead.
static inline bool setup_has_nccl(void)
{
    return *setup.nccl && !*setup.mps_pipe;
}

// worker_filter=log: nothing is refused, only told.
static inline bool setup_filter_only_logs(void)
{
    return setup.worker.worker_filter == CONTROL_WORKER_FILTER_LOG;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Reads a worker's command line, which the spawner fills from its own settings, and the SETUP
// message of rgpud (proto/control.spec), which waits on an inherited descriptor.
#ifndef RGPU_WORKER_SETUP_H
#define RGPU_WORKER_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"

// The libraries that a worker loads, and its confinement. rgpud speaks with the network, so it does
// not choose them.
struct setup_command {
    char driver[4096];     // by name or path
    const char *cupti;     // empty: its default names
    const char *nccl;      // the site's NCCL, for collectives between boxes; empty: none
    bool filter_only_logs; // worker_filter=log: nothing is refused
};

// setup_parse(), setup_receive() and confine() write both before threads exist; later they are only
// read.
extern struct setup_command command;
extern struct control_setup setup;

// Reads the command line. Returns -EINVAL if it is not one of the spawner.
int setup_parse(int argc, char **argv) __attribute__((warn_unused_result));

// Returns true if a supervisor is at the other end of the descriptor that a worker inherits.
bool setup_is_offered(void);
// Waits for the message. Sets spin_us to a value for this machine if the setting leaves it open.
// Returns -ECONNRESET if the supervisor is gone; -EPROTO or -EBADMSG if it sends another message or
// has another version.
int setup_receive(void) __attribute__((warn_unused_result));

// Returns true if sessions may use the transport of that name.
bool setup_wants_transport(const char *name);

static inline uint32_t setup_spin_us(void)
{
    return (uint32_t)setup.worker.spin_us;
}

static inline bool setup_block_size_is_auto(void)
{
    return !setup.worker.block_size;
}

// Returns true if the site's NCCL may run here. NCCL connects to other workers by itself, but the
// supervisor makes the connections of a client of an MPS daemon.
static inline bool setup_has_nccl(void)
{
    return *command.nccl && !*setup.mps_pipe;
}

#endif

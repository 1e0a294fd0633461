// SPDX-License-Identifier: BSD-3-Clause
// The command line of a worker, which the spawner fills from its own settings, and the SETUP message of rgpud
// (proto/control.spec), which waits on an inherited descriptor.
#ifndef RGPU_WORKER_SETUP_H
#define RGPU_WORKER_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/control.h"

// The libraries that a worker loads, and whether it is confined. rgpud speaks with the network, so it does not choose them.
struct setup_command {
    char driver[4096];     // by name or path
    const char *cupti;     // empty: its usual names
    const char *nccl;      // the site's NCCL, for collectives between boxes; empty: there is none
    bool filter_only_logs; // worker_filter=log: nothing is refused
};

// Both are written before there are threads, by setup_parse(), setup_receive() and confine(), and only read after that.
extern struct setup_command command;
extern struct control_setup setup;

// Reads the command line. Returns -EINVAL for another one than the spawner's.
int setup_parse(int argc, char **argv) __attribute__((warn_unused_result));

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
    return *command.nccl && !*setup.mps_pipe;
}

#endif

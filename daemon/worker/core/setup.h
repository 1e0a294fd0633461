// SPDX-License-Identifier: BSD-3-Clause
// Command line of a worker, which the spawner fills from its own settings, and SETUP message of
// rgpud (proto/control.spec), which waits in an inherited socket.
#ifndef RGPU_WORKER_SETUP_H
#define RGPU_WORKER_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"

// Libraries that a worker loads, and its confinement. The spawner decides about these, because
// rgpud communicates with the network.
struct setup_command {
    char driver[4096];     // name or path
    const char *cupti;     // "": default names
    const char *nccl;      // NCCL library of the site; "": none
    bool filter_only_logs; // worker_filter=log: no system call is refused
};

// Written by setup_parse(), setup_receive() and confine() before there are threads; then read-only.
extern struct setup_command command;
extern struct control_setup setup;

// Parses the command line. Returns 0, or -EINVAL if the spawner did not make it.
int setup_parse(int argc, char **argv) __attribute__((warn_unused_result));

// Returns true if the inherited descriptor is a socket to a supervisor.
bool setup_is_offered(void);
// Waits for SETUP. If spin_us is open, sets it to a value for this machine. Returns 0; -ECONNRESET
// if rgpud has died; -EPROTO or -EBADMSG for another message or version.
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

// Returns true if the site's NCCL may run. NCCL connects to other workers itself, which a client of
// an MPS daemon may not.
static inline bool setup_has_nccl(void)
{
    return *command.nccl && !*setup.mps_pipe;
}

#endif

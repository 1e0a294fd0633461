// SPDX-License-Identifier: BSD-3-Clause
// Serves one client (run.c).
#ifndef RGPU_WORKER_RUN_H
#define RGPU_WORKER_RUN_H

#include "common/net/control.h"

// Serves one client from its grant to the end of the process. Erases the secret in the grant after
// its use.
void run_session(int control_fd, struct control_grant *grant, int client_fd)
    __attribute__((noreturn));

#endif

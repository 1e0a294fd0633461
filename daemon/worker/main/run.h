// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_RUN_H
#define RGPU_WORKER_RUN_H

#include "common/net/control.h"

// Serves one client until the process ends. Erases the secret in the grant after use.
void run_session(int control_fd, struct control_grant *grant, int client_fd)
    __attribute__((noreturn));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The checks of rgpuctl doctor on this machine.
#ifndef RGPU_ADMIN_CLI_DOCTOR_HOST_H
#define RGPU_ADMIN_CLI_DOCTOR_HOST_H

#include <stdbool.h>

// Checks what a session over RDMA needs, and NUMA nodes.
void doctor_host(void);
void doctor_munge(bool needed);

#endif

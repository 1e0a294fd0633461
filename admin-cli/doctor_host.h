// SPDX-License-Identifier: BSD-3-Clause
// Checks of `rgpuctl doctor` on this machine. Each prints its findings.
#ifndef RGPU_ADMIN_CLI_DOCTOR_HOST_H
#define RGPU_ADMIN_CLI_DOCTOR_HOST_H

#include <stdbool.h>

// Checks the prerequisites of RDMA, and NUMA nodes.
void doctor_host(void);
// Checks munged, if it is needed. SOCKET is NULL: RGPU_MUNGE_SOCKET, else munged's own.
void doctor_munge(bool needed, const char *socket);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What rgpuctl doctor looks at on this machine.
#ifndef RGPU_ADMIN_CLI_DOCTOR_HOST_H
#define RGPU_ADMIN_CLI_DOCTOR_HOST_H

#include <stdbool.h>

// What a session over RDMA needs, and NUMA nodes.
void doctor_host(void);
void doctor_munge(bool needed);

#endif

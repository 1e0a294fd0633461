// SPDX-License-Identifier: BSD-3-Clause
// Client of the software MPS. A fault of one client of a server is a fault of all its clients.
#ifndef SIM_MPS_CLIENT_H
#define SIM_MPS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/sim.h"

// Makes this process a client if a control program answers in the pipe directory; else does
// nothing. Must be called once, by cuInit. Returns MPS_SERVER_NOT_READY, MPS_MAX_CLIENTS_REACHED,
// or INVALID_VALUE for invalid settings.
CUresult mps_join(void);
bool mps_is_client(void);
// Returns ILLEGAL_ADDRESS after a fault of any client, MPS_CLIENT_TERMINATED if an administrator
// ended this client, MPS_RPC_FAILURE if the server has died, or CUDA_SUCCESS.
CUresult mps_status(void);
// Reports a fault of this process to all clients.
void mps_fault(void);
// Mark begin and end of a kernel. Thread-safe.
void mps_kernel_begins(void);
void mps_kernel_ended(void);

// Returns how many of a device's multiprocessors this process may use.
unsigned mps_share_of(unsigned multiprocessors);
// Returns how many bytes of a device this process may allocate; SIZE_MAX: no limit.
size_t mps_memory_limit(int index);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Makes this process a client of the software MPS. All clients share one server, and its faults.
#ifndef SIM_MPS_CLIENT_H
#define SIM_MPS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/sim.h"

// Becomes a client if a control program answers in the pipe directory; otherwise does nothing.
// cuInit calls it once. Returns MPS_SERVER_NOT_READY, MPS_MAX_CLIENTS_REACHED, or INVALID_VALUE for
// invalid settings.
CUresult mps_join(void);
bool mps_is_client(void);
// Returns ILLEGAL_ADDRESS if a client of the server caused a fault, MPS_CLIENT_TERMINATED if an
// administrator ended this client, MPS_RPC_FAILURE if the server is gone, or CUDA_SUCCESS.
CUresult mps_status(void);
// Records that this process caused a fault.
void mps_fault(void);
// Bracket each kernel.
void mps_kernel_begins(void);
void mps_kernel_ended(void);

// Returns the number of the device's multiprocessors that contexts of this process may use.
unsigned mps_share_of(unsigned multiprocessors);
// Returns the most memory that this process may take of a device, or SIZE_MAX if there is no limit.
size_t mps_memory_limit(int index);

#endif

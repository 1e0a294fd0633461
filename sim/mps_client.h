// SPDX-License-Identifier: BSD-3-Clause
// This process as a client of the software MPS: what its clients have in common is the server, and with it a fault.
#ifndef SIM_MPS_CLIENT_H
#define SIM_MPS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/sim.h"

// Becomes a client where the pipe directory has a control program that answers, and goes on without one where there
// is none. MPS_SERVER_NOT_READY, MPS_MAX_CLIENTS_REACHED, INVALID_VALUE for settings that are not understood. Once, by cuInit.
CUresult mps_join(void);
bool mps_is_client(void);
// ILLEGAL_ADDRESS: a client of the server has made a fault; MPS_CLIENT_TERMINATED: this one was ended by an administrator;
// MPS_RPC_FAILURE: the server is gone.
CUresult mps_status(void);
// This process has made one.
void mps_fault(void);
// Around each kernel.
void mps_kernel_begins(void);
void mps_kernel_ended(void);

// Of the device's multiprocessors those that a context of this process may use.
unsigned mps_share_of(unsigned multiprocessors);
// The most that this process may take of a device; SIZE_MAX: no limit.
size_t mps_memory_limit(int index);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Shares memory and events between processes of one lease on one box (CUDA IPC). The box makes a
// token, which identifies the shared object; the programs pass the token to each other.
#ifndef RGPU_CLIENT_OPENED_MEMORY_H
#define RGPU_CLIENT_OPENED_MEMORY_H

#include "proto/cuda_abi.h"

// Returns the token of the allocation that holds ADDRESS. Each call returns the same token.
CUresult allocation_share(CUdeviceptr address, CUipcMemHandle *token);
// Opens the memory of a token at *ADDRESS. If the token is open already, returns the same address.
// The memory stays open until allocation_close was called as many times.
CUresult allocation_open(const CUipcMemHandle *token, CUdeviceptr *address);
CUresult allocation_close(CUdeviceptr address);

// Returns the token of an event, for which other processes can then wait; opens the event of a
// token.
CUresult event_share(CUevent event, CUipcEventHandle *token);
CUresult event_open(const CUipcEventHandle *token, CUevent *event);

// Export physical memory and import it. The programs pass a descriptor of a file that holds the
// token. The program owns *FD and closes it; physical_import does not close FD.
CUresult physical_export(CUmemGenericAllocationHandle handle, int *fd);
CUresult physical_import(int fd, CUmemGenericAllocationHandle *handle);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Memory between processes of one lease on one box. What programs pass to each other are tokens of the box.
#ifndef RGPU_CLIENT_OPENED_MEMORY_H
#define RGPU_CLIENT_OPENED_MEMORY_H

#include "proto/cuda_abi.h"

// The token of an allocation; the same for all of its addresses, and each time.
CUresult allocation_share(CUdeviceptr address, CUipcMemHandle *token);
// Opening one again gives the same address, which is to be closed as often.
CUresult allocation_open(const CUipcMemHandle *token, CUdeviceptr *address);
CUresult allocation_close(CUdeviceptr address);

// Events that other processes wait for.
CUresult event_share(CUevent event, CUipcEventHandle *token);
CUresult event_open(const CUipcEventHandle *token, CUevent *event);

// Physical memory travels as the descriptor of a file that holds the token; *FD is the program's.
CUresult physical_export(CUmemGenericAllocationHandle handle, int *fd);
CUresult physical_import(int fd, CUmemGenericAllocationHandle *handle);

#endif

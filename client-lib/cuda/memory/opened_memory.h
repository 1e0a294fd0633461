// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes of one lease share on one box. The programs pass tokens of the box to each
// other.
#ifndef RGPU_CLIENT_OPENED_MEMORY_H
#define RGPU_CLIENT_OPENED_MEMORY_H

#include "proto/cuda_abi.h"

// Makes the token of an allocation. It is the same for all of its addresses, and in every call.
CUresult allocation_share(CUdeviceptr address, CUipcMemHandle *token);
// Opening a token again returns the same address, which must be closed as many times.
CUresult allocation_open(const CUipcMemHandle *token, CUdeviceptr *address);
CUresult allocation_close(CUdeviceptr address);

// Events that other processes wait for.
CUresult event_share(CUevent event, CUipcEventHandle *token);
CUresult event_open(const CUipcEventHandle *token, CUevent *event);

// Physical memory is passed as a descriptor of a file that holds the token. The program owns *FD.
CUresult physical_export(CUmemGenericAllocationHandle handle, int *fd);
CUresult physical_import(int fd, CUmemGenericAllocationHandle *handle);

#endif

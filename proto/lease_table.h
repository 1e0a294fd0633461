// SPDX-License-Identifier: BSD-3-Clause
// Functions of libcuda.so.1 for librgpu, which looks up rgpu_lease_table in it by name: GPUs of the
// program's lease or job that the program does not see. NVIDIA's library has no such table.
#ifndef RGPU_PROTO_LEASE_TABLE_H
#define RGPU_PROTO_LEASE_TABLE_H

#include "proto/cuda_abi.h"

struct lease_table {
    // The device of that UUID, for every call but those that enumerate devices. A session with its
    // box is opened if there is none, and stays. CUDA_ERROR_INVALID_DEVICE: it is none of the
    // lease, or its box cannot be reached.
    CUresult (*reach)(const CUuuid *uuid, CUdevice *device);
};

#endif

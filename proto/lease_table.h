// SPDX-License-Identifier: BSD-3-Clause
// The table rgpu_lease_table of rgpu's libcuda.so.1, for librgpu: access to GPUs of the program's
// lease or job that CUDA does not list in this process. NVIDIA's libcuda.so.1 has no such table.
#ifndef RGPU_PROTO_LEASE_TABLE_H
#define RGPU_PROTO_LEASE_TABLE_H

#include "proto/cuda_abi.h"

struct lease_table {
    // Sets *DEVICE to the GPU with this UUID, for all calls except those that enumerate devices. If
    // necessary, opens a session with the GPU's box, which lasts until the process ends.
    // CUDA_ERROR_INVALID_DEVICE: the lease has no such GPU, or its box cannot be reached.
    CUresult (*reach)(const CUuuid *uuid, CUdevice *device);
};

#endif

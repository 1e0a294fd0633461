// SPDX-License-Identifier: BSD-3-Clause
// Converts results of the driver and of librgpu to NCCL's, and keeps the message for
// ncclGetLastError.
#ifndef RGPU_NCCL_NCCL_FAILURE_H
#define RGPU_NCCL_NCCL_FAILURE_H

#include "proto/nccl_abi.h"
#include "client-lib/nccl/loaded_calls.h"

// Returns RESULT, and keeps the message for the thread.
__attribute__((format(printf, 2, 3))) ncclResult_t nccl_refuse(ncclResult_t result,
                                                               const char *format, ...);
// Logs a line if NCCL_DEBUG asks for more than failures.
__attribute__((format(printf, 1, 2))) void nccl_tell(const char *format, ...);
ncclResult_t refuse_driver(CUresult result, const char *call);
ncclResult_t refuse_team(enum rgpu_result result);
// Returns the thread's last message; empty: there was none.
const char *last_refusal(void);
#define CU(call) refuse_driver(loaded.call, #call)
#define TEAM(call) refuse_team(loaded.call)

#endif

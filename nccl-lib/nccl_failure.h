// SPDX-License-Identifier: BSD-3-Clause
// Results of the driver and of librgpu as NCCL's, and the sentence that ncclGetLastError gives.
#ifndef RGPU_NCCL_NCCL_FAILURE_H
#define RGPU_NCCL_NCCL_FAILURE_H

#include "proto/nccl_abi.h"
#include "nccl-lib/loaded_calls.h"

// Returns RESULT, and keeps the sentence for the thread.
__attribute__((format(printf, 2, 3))) ncclResult_t nccl_refuse(ncclResult_t result,
                                                               const char *format, ...);
// Where NCCL_DEBUG asks for more than failures.
__attribute__((format(printf, 1, 2))) void nccl_tell(const char *format, ...);
ncclResult_t refuse_driver(CUresult result, const char *call);
ncclResult_t refuse_team(enum rgpu_result result);
// The thread's last sentence; empty: there was none.
const char *last_refusal(void);
#define CU(call) refuse_driver(loaded.call, #call)
#define TEAM(call) refuse_team(loaded.call)

#endif

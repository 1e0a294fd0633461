// SPDX-License-Identifier: BSD-3-Clause
// Converts results of the driver and of librgpu to NCCL's, and keeps the message for
// ncclGetLastError.
#ifndef RGPU_NCCL_NCCL_FAILURE_H
#define RGPU_NCCL_NCCL_FAILURE_H

#include "proto/nccl_abi.h"
#include "client-lib/nccl/loaded_calls.h"

// Returns RESULT, and stores the message as the thread's last one. Prints it to standard error if
// NCCL_DEBUG is WARN or a more detailed level.
__attribute__((format(printf, 2, 3))) ncclResult_t nccl_refuse(ncclResult_t result,
                                                               const char *format, ...);
// Prints a line to standard error if NCCL_DEBUG is INFO or TRACE.
__attribute__((format(printf, 1, 2))) void nccl_tell(const char *format, ...);
// Return NCCL's result for a result of the driver or of librgpu. For an error they also store a
// message. CALL is the text of the call, of which the message contains the function's name.
ncclResult_t refuse_driver(CUresult result, const char *call);
ncclResult_t refuse_team(enum rgpu_result result);
// Returns the thread's last message, valid until its next one; "" if there was none.
const char *last_refusal(void);
// Call a function of `loaded` and convert its result.
#define CU(call) refuse_driver(loaded.call, #call)
#define TEAM(call) refuse_team(loaded.call)

#endif

// Asynchronous copies from page-locked memory over a byte stream whose data must not be read before
// earlier work has written it: the box says when.
#ifndef RGPU_CLIENT_LATE_PUSH_H
#define RGPU_CLIENT_LATE_PUSH_H

#include "client-lib/session.h"

// Asks for the copy. CUDA_ERROR_NOT_READY: too many are under way, and the caller has to wait.
CUresult late_push(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                   CUstream stream);
// The box wants the data of a job: a thread of its own sends it. Never blocks.
void late_push_due(struct session *session, uint32_t job);

#endif

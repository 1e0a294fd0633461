// SPDX-License-Identifier: BSD-3-Clause
// Decides when the code of modules and libraries is loaded. A driver loads it late, at the first
// launch of a function. Loading may wait for all work of the GPU, and block all other calls. If a
// stream waits for data of another GPU, this is a deadlock: the copy of that data needs a call of
// the driver, which is blocked. (CUDA C++ Programming Guide, "Lazy Loading")
#ifndef RGPU_CLIENT_CODE_LOADING_H
#define RGPU_CLIENT_CODE_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

// Returns the mode that CUDA_MODULE_LOADING in the program's environment sets. It is read once.
CUmoduleLoadingMode code_loading_mode(void);
// Returns true if the caller should send REQUEST, which loads the code of an image of SIZE bytes,
// right after the image: if the program wants eager loading, or if it uses several boxes and the
// image has at most 1 MiB. The box must know REQUEST (enum cuda_op). The caller ignores errors of
// REQUEST, because the first launch of a function reports them.
bool code_loads_at_once(const struct box_session *session, size_t size, uint16_t request);

#endif

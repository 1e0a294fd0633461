// SPDX-License-Identifier: BSD-3-Clause
// Decides when the code of modules and libraries is loaded. A driver loads it late, at the first
// launch of a function. It may then wait for all work of the GPU, and block all other calls. A
// stream that waits for data of another GPU would wait forever, because these data need the driver,
// too. (CUDA C++ Programming Guide, "Lazy Loading")
#ifndef RGPU_CLIENT_CODE_LOADING_H
#define RGPU_CLIENT_CODE_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

// Returns the mode that CUDA_MODULE_LOADING in the program's environment sets. It is read once.
CUmoduleLoadingMode code_loading_mode(void);
// Returns true if REQUEST is to load the code of an image of SIZE bytes right after the image: if
// the program wants eager loading, or has GPUs of several boxes and the image is small. Errors are
// left for the launch to report.
bool code_loads_at_once(const struct box_session *session, size_t size, uint16_t request);

#endif

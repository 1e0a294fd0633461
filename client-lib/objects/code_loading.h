// SPDX-License-Identifier: BSD-3-Clause
// When the code of modules and libraries is loaded. A driver does it late, with the first launch of a function, and may then
// wait for all work of the GPU and let no other call pass. Streams that wait for what another GPU brings would wait for ever:
// what brings it needs the driver, too. (CUDA C++ Programming Guide, "Lazy Loading")
#ifndef RGPU_CLIENT_CODE_LOADING_H
#define RGPU_CLIENT_CODE_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"
#include "proto/cuda_abi.h"

// As CUDA_MODULE_LOADING in the program's environment has it, which is read once.
CUmoduleLoadingMode code_loading_mode(void);
// Whether the code of an image of SIZE bytes is loaded right after it, by that request: where the program wants it so, or has
// GPUs of several boxes and the image is no large library. What fails is for the launch to say.
bool code_loads_at_once(const struct box_session *session, size_t size, uint16_t request);

#endif

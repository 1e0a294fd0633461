// SPDX-License-Identifier: BSD-3-Clause
// When the code of modules and libraries is loaded. A driver does it late, with the first launch of a function, and may then
// wait for all work of the GPU and let no other call pass. Streams that wait for what another GPU brings would wait for ever:
// what brings it needs the driver, too. (CUDA C++ Programming Guide, "Lazy Loading")
#ifndef RGPU_CLIENT_CODE_LOADING_H
#define RGPU_CLIENT_CODE_LOADING_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// As CUDA_MODULE_LOADING in the program's environment has it, which is read once.
CUmoduleLoadingMode code_loading_mode(void);
// An image of SIZE bytes has been loaded: its code is, too, if that is wanted, or the program's GPUs are in several boxes and
// the image is no large library. What fails is for the launch to say.
void module_code_loaded(CUmodule module, size_t size);
void library_code_loaded(CUlibrary library, size_t size);

#endif

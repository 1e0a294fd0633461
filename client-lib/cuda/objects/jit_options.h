// SPDX-License-Identifier: BSD-3-Clause
// Options of the just-in-time compiler and linker for a request to the box, and the box's answers.
#ifndef RGPU_CLIENT_JIT_OPTIONS_H
#define RGPU_CLIENT_JIT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

enum { JIT_OPTIONS_MAX = 64 };

struct jit_log {
    char *buffer; // the program's buffer
    size_t size;
    void **used; // the program's variable for the number of bytes written
};

struct jit_options {
    struct wire_option options[JIT_OPTIONS_MAX];
    uint32_t count;
    struct jit_log info, error;
    void **wall_time;
    void **threads_per_block;
    uint8_t outputs[WIRE_INLINE_MAX];
    size_t outputs_size;
};

// Reads the program's two arrays. Returns CUDA_ERROR_NOT_SUPPORTED for options that hold pointers
// other than log buffers.
CUresult jit_read(struct jit_options *jit, unsigned int count, const CUjit_option *options,
                  void *const *values);
CUresult jit_add_library_options(struct jit_options *jit, unsigned int count,
                                 const CUlibraryOption *options, void *const *values);
static inline size_t jit_options_size(const struct jit_options *jit)
{
    return jit->count * sizeof(jit->options[0]);
}
// Stores the box's answer in jit->outputs (outputs_size bytes) in the program's variables.
void jit_answer(struct jit_options *jit);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Options of the just-in-time compiler and linker, on their way to the box, and its answers.
#ifndef RGPU_CLIENT_JIT_OPTIONS_H
#define RGPU_CLIENT_JIT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

enum { JIT_OPTIONS_MAX = 64 };

struct jit_log {
    char *buffer; // the program's
    size_t size;
    void **used; // where the program reads how much was written
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

// Reads the program's two arrays. CUDA_ERROR_NOT_SUPPORTED for options that hold pointers other than
// log buffers.
CUresult jit_read(struct jit_options *jit, unsigned int count, const CUjit_option *options,
                  void *const *values);
CUresult jit_add_library_options(struct jit_options *jit, unsigned int count,
                                 const CUlibraryOption *options, void *const *values);
static inline size_t jit_options_size(const struct jit_options *jit)
{
    return jit->count * sizeof(jit->options[0]);
}
// Gives the program what the box answered in jit->outputs (outputs_size bytes).
void jit_answer(struct jit_options *jit);

#endif

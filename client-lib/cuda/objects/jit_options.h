// SPDX-License-Identifier: BSD-3-Clause
// Options of the just-in-time compiler and linker for a request to the box, and the box's answers.
#ifndef RGPU_CLIENT_JIT_OPTIONS_H
#define RGPU_CLIENT_JIT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

enum { JIT_OPTIONS_MAX = 64 }; // maximum of options in a request

// A log buffer of the program, which the program owns.
struct jit_log {
    char *buffer; // NULL: the program wants no log
    size_t size;  // bytes
    void **used;  // the program's variable for the number of bytes written
};

struct jit_options {
    struct wire_option options[JIT_OPTIONS_MAX]; // as the request carries them
    uint32_t count;                              // number of options
    struct jit_log info, error;
    // The program's variables for outputs; NULL: not wanted.
    void **wall_time;
    void **threads_per_block;
    uint8_t outputs[WIRE_INLINE_MAX]; // the box's answer
    size_t outputs_size;              // bytes of it
};

// Reads COUNT options of the program into *JIT. Returns CUDA_ERROR_NOT_SUPPORTED for options that
// are pointers other than log buffers.
CUresult jit_read(struct jit_options *jit, unsigned int count, const CUjit_option *options,
                  void *const *values);
// Adds COUNT options of cuLibraryLoadData to *JIT.
CUresult jit_add_library_options(struct jit_options *jit, unsigned int count,
                                 const CUlibraryOption *options, void *const *values);
// Returns the bytes of the options in the request.
static inline size_t jit_options_size(const struct jit_options *jit)
{
    return jit->count * sizeof(jit->options[0]);
}
// Copies the box's answer from jit->outputs to the program's buffers and variables.
void jit_answer(struct jit_options *jit);

#endif

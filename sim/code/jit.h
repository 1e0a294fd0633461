// SPDX-License-Identifier: BSD-3-Clause
// Implements the options and logs of the just-in-time compiler, and the compilation of an image to
// a PTX module.
#ifndef SIM_JIT_H
#define SIM_JIT_H

#include "sim/ptx/ptx.h"
#include "sim/sim.h"

struct jit {
    struct ptx_log info;
    struct ptx_log error;
    void **info_size; // where option values are returned at the end; NULL: not requested
    void **error_size;
    void **wall_time;
    uint64_t started_ns;
    char own_error[1024]; // error log if the program gave none
};

// Reads the options. Returns INVALID_VALUE for an unknown option. The caller calls jit_finish
// afterwards.
CUresult jit_begin(struct jit *jit, unsigned count, const CUjit_option *options, void **values);
// Returns the output values to the program; logs the error if `result` is one.
void jit_finish(struct jit *jit, CUresult result);

// Appends a line to the error log.
void jit_error(struct jit *jit, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Extracts the PTX text of an image (text, fat binary or its wrapper); the caller frees it.
// JIT_UNBOUNDED as length means memory of the program, where only the image itself states its
// length. Returns INVALID_VALUE, INVALID_IMAGE, NO_BINARY_FOR_GPU or OUT_OF_MEMORY.
#define JIT_UNBOUNDED SIZE_MAX
CUresult jit_extract(struct jit *jit, const void *image, size_t length, char **text, size_t *size);

// Compiles a text, or several with JIT_PART_MARKER between them, as the linker produces. Returns
// INVALID_PTX (also for an unsupported instruction, which the log names) or
// UNSUPPORTED_PTX_VERSION.
CUresult jit_compile(struct jit *jit, const char *text, size_t size, struct ptx_module **out);
#define JIT_PART_MARKER "\n// linked by the software GPU: the next part follows\n"

// Reads a whole file and appends a NUL. The caller frees it. Returns FILE_NOT_FOUND.
CUresult jit_read_file(const char *path, char **out, size_t *size);

#endif

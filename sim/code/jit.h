// SPDX-License-Identifier: BSD-3-Clause
// Just-in-time compiler: its options and logs, and the compilation of an image to a PTX module.
#ifndef SIM_JIT_H
#define SIM_JIT_H

#include "sim/ptx/ptx.h"
#include "sim/sim.h"

struct jit {
    struct ptx_log info;
    struct ptx_log error;
    void **info_size; // addresses for output values; NULL: not requested
    void **error_size;
    void **wall_time;
    uint64_t started_ns;
    char own_error[1024]; // error log if the program passed none
};

// Parses the options. Returns INVALID_VALUE for an unknown option. The caller must call jit_finish.
CUresult jit_begin(struct jit *jit, unsigned count, const CUjit_option *options, void **values);
// Stores the output values, and logs RESULT if it is an error.
void jit_finish(struct jit *jit, CUresult result);

// Appends a line to the error log.
void jit_error(struct jit *jit, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Extracts the PTX text of an image: text, fat binary or fat binary wrapper. The caller frees
// *TEXT. LENGTH is JIT_UNBOUNDED if only the image itself states its length. Returns INVALID_VALUE,
// INVALID_IMAGE, NO_BINARY_FOR_GPU or OUT_OF_MEMORY.
#define JIT_UNBOUNDED SIZE_MAX
CUresult jit_extract(struct jit *jit, const void *image, size_t length, char **text, size_t *size);

// Compiles one text, or several with JIT_PART_MARKER between them, as cuLinkComplete returns.
// Returns UNSUPPORTED_PTX_VERSION, or INVALID_PTX, also for an instruction that the simulator
// lacks; the log names it.
CUresult jit_compile(struct jit *jit, const char *text, size_t size, struct ptx_module **out);
#define JIT_PART_MARKER "\n// linked by the software GPU: the next part follows\n"

// Reads a whole file and appends a NUL. The caller frees it. Returns FILE_NOT_FOUND.
CUresult jit_read_file(const char *path, char **out, size_t *size);

#endif

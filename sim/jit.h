// SPDX-License-Identifier: BSD-3-Clause
// The options of the just-in-time compiler, its logs, and compiling an image to a PTX module.
#ifndef SIM_JIT_H
#define SIM_JIT_H

#include "sim/ptx/ptx.h"
#include "sim/sim.h"

struct jit {
    struct ptx_log info;
    struct ptx_log error;
    void **info_size; // option values to fill in at the end; NULL: not asked for
    void **error_size;
    void **wall_time;
    uint64_t started_ns;
    char own_error[1024]; // the error log when the program gave none
};

// Reads the options: INVALID_VALUE for one that does not exist. To be finished.
CUresult jit_begin(struct jit *jit, unsigned count, const CUjit_option *options, void **values);
// Fills in the values that the program gets back; logs the error if `result` is one.
void jit_finish(struct jit *jit, CUresult result);

// Appends a line to the error log.
void jit_error(struct jit *jit, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The PTX text of an image (text, fat binary or its wrapper); the caller frees it. A length of
// JIT_UNBOUNDED stands for memory of the program's, of which only the image itself says how long
// it is. INVALID_VALUE, INVALID_IMAGE, NO_BINARY_FOR_GPU, OUT_OF_MEMORY.
#define JIT_UNBOUNDED SIZE_MAX
CUresult jit_extract(struct jit *jit, const void *image, size_t length, char **text, size_t *size);

// Compiles a text, which may be several with JIT_PART_MARKER between them, as the linker makes.
// INVALID_PTX (also for an instruction that is not known; the log names it),
// UNSUPPORTED_PTX_VERSION.
CUresult jit_compile(struct jit *jit, const char *text, size_t size, struct ptx_module **out);
#define JIT_PART_MARKER "\n// linked by the software GPU: the next part follows\n"

// Reads a whole file, with a NUL behind it: FILE_NOT_FOUND. The caller frees it.
CUresult jit_read_file(const char *path, char **out, size_t *size);

#endif

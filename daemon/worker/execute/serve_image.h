// SPDX-License-Identifier: BSD-3-Clause
// Images of code, which a client sends in parts before it loads or links them, and options of the
// just-in-time compiler.
#ifndef RGPU_WORKER_SERVE_IMAGE_H
#define RGPU_WORKER_SERVE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"
#include "daemon/worker/request/serve.h"

struct uploaded_image {
    uint32_t number;
    uint64_t size, received;
    unsigned users; // loads that use it, plus one until the client frees it
    uint8_t *data;  // SIZE bytes, then zeros, so that text is terminated
    struct uploaded_image *next;
};

// Returns a complete image with a new reference (image_put); NULL with INVALID_VALUE noted.
struct uploaded_image *image_take(struct serve *serve, uint32_t number);
void image_put(struct uploaded_image *image);
// Returns true if its kernels may print.
bool image_prints(const struct uploaded_image *image);

enum { JIT_OPTIONS_MAX = 64, JIT_LOG_MAX = (WIRE_INLINE_MAX - 64) / 2 };

// Options in the driver's format. jit_free() frees the log buffers.
struct jit_request {
    CUjit_option names[JIT_OPTIONS_MAX + 4];
    void *values[JIT_OPTIONS_MAX + 4];
    unsigned count;
    CUlibraryOption library_names[JIT_OPTIONS_MAX];
    void *library_values[JIT_OPTIONS_MAX];
    unsigned library_count;
    char *info, *error;
    uint32_t info_size, error_size;
};

// Parses the options in a request. Returns false with an error noted.
bool jit_parse(struct serve *serve, const void *options, uint32_t bytes, struct jit_request *out);
// Sets the outputs of the load as the request's reply.
void jit_reply(struct serve *serve, const struct jit_request *jit, uint32_t room);
void jit_free(struct jit_request *jit);

#endif

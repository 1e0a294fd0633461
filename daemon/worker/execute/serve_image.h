// SPDX-License-Identifier: BSD-3-Clause
// Images of code that a client sends piece by piece before it loads or links them, and the options
// of the just-in-time compiler that come with a load.
#ifndef RGPU_WORKER_SERVE_IMAGE_H
#define RGPU_WORKER_SERVE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"
#include "daemon/worker/request/serve.h"

struct uploaded_image {
    uint32_t number;
    uint64_t size, received;
    unsigned users; // loads that read it now, and one while the client has not freed it
    uint8_t *data;  // SIZE bytes, then zeros, so that text ends
    struct uploaded_image *next;
};

// A complete image, kept until image_put; NULL with INVALID_VALUE noted.
struct uploaded_image *image_take(struct serve *serve, uint32_t number);
void image_put(struct uploaded_image *image);
// Returns true if its kernels may print, as far as the image shows.
bool image_prints(const struct uploaded_image *image);

enum { JIT_OPTIONS_MAX = 64, JIT_LOG_MAX = (WIRE_INLINE_MAX - 64) / 2 };

// Options as the driver takes them. The log buffers are heap, jit_free's.
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

// Options of a request's inline bytes; false: noted.
bool jit_parse(struct serve *serve, const void *options, uint32_t bytes, struct jit_request *out);
// The outputs of the load as the request's reply bytes.
void jit_reply(struct serve *serve, const struct jit_request *jit, uint32_t room);
void jit_free(struct jit_request *jit);

#endif

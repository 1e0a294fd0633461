// SPDX-License-Identifier: BSD-3-Clause
// Functions for the files of the texture recorder: arrays with known contents, texture and surface
// objects, and lines of results. A line has a name and the words that the device returned or, if a
// call failed, its result.
#ifndef RGPU_TESTS_TEXTURES_SAMPLING_H
#define RGPU_TESTS_TEXTURES_SAMPLING_H

#ifdef WITH_CUDA_H
#include <cuda.h>
#else
#include "proto/cuda_abi.h"
#endif
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/texture_calls.h"

#define SAMPLE_FLOATS 12
struct sample {
    float x, y, z, layer, level;
    float dx[3], dy[3];
    float unused;
};

struct place {
    int x, y, z, layer;
};

// One kind of texel that arrays have.
struct texel_format {
    const char *name;
    CUarray_format format;
    unsigned channels;
    unsigned bytes; // of a channel
    bool integer;   // 8 to 32 bits that may be read as integers
};
extern const struct texel_format plain_formats[];
const struct texel_format *format_named(const char *name);

struct image {
    const struct texel_format *format;
    unsigned width, height, depth, flags;
    CUarray array;
    CUmipmappedArray mipmap;
    unsigned levels;
};

void result_line(const char *name, CUresult result);
__attribute__((format(printf, 1, 2))) const char *label(const char *format,
                                                        ...); // the next but 8 call ends it
bool image_make(const char *name, struct image *image, const char *format, unsigned width,
                unsigned height, unsigned depth, unsigned flags);
bool image_make_mipmap(const char *name, struct image *image, const char *format, unsigned width,
                       unsigned height, unsigned depth, unsigned flags, unsigned levels);
void image_put(const char *name, struct image *image, unsigned level, const void *texels);
void image_get(const char *name, struct image *image, void *texels);
void image_free(struct image *image);
size_t image_bytes(const struct image *image, unsigned level);
// Random bytes; of floats and halves, numbers between -1 and 1.
void image_put_random(const char *name, struct image *image, unsigned level, uint64_t seed);

CUDA_RESOURCE_DESC image_resource(const struct image *image);
CUDA_TEXTURE_DESC sampler(CUaddress_mode mode, CUfilter_mode filter, unsigned flags);
// 0 and a line where it fails.
CUtexObject texture_make(const char *name, const CUDA_RESOURCE_DESC *resource,
                         const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view);
CUsurfObject surface_make(const char *name, const struct image *image);

// Reads with the kernel and prints `components` words of each result.
void sample_line(const char *name, const char *kernel, CUtexObject texture,
                 const struct sample *samples, unsigned count, unsigned components);
void surface_read_line(const char *name, const char *kernel, CUsurfObject surface,
                       const struct place *places, unsigned count, unsigned words);
CUresult surface_write(const char *kernel, CUsurfObject surface, const struct place *places,
                       unsigned count, const uint32_t (*values)[4]);
void words_line(const char *name, const void *words, size_t count);
void kernels_try(void); // loads every one, and prints those that fail
CUresult kernel_run(const char *kernel, unsigned count, void **arguments);

uint32_t random_word(uint64_t *state);
float random_unit(uint64_t *state); // 0 to 1, on a grid of 1 / 65536
uint16_t half_bits(float value);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_SAMPLES 4096

struct section {
    const char *name;
    void (*run)(void);
};
extern const struct section filter_sections[], shape_sections[], surface_sections[],
    descriptor_sections[], stretch_sections[];

#endif

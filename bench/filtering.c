// SPDX-License-Identifier: BSD-3-Clause
// Measures a kernel that filters a texture and writes a surface, through the libcuda.so.1 it is
// started with. Prints one JSON line per figure. `filtering [SIDE]`: a square with SIDE texels a
// side, by default 4096.
#include <stdlib.h>
#include <time.h>

#include "tests/programs/driver.h"
#include "tests/programs/texture_calls.h"

enum { ROUNDS = 20, LAUNCHES = 20 };

__asm__(".pushsection .rodata\n"
        "images_ptx: .incbin \"tests/programs/images.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char images_ptx[] __attribute__((visibility("hidden")));

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static CUDA_RESOURCE_DESC make_array(unsigned side)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = side,
                                 .Height = side,
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 1,
                                 .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
    return r;
}

static double launches(CUfunction smooth, unsigned side, CUtexObject from, CUsurfObject to)
{
    double start = now();
    for (unsigned i = 0; i < LAUNCHES; i++)
        CHECK(cuLaunchKernel(smooth, (side + 31) / 32, (side + 7) / 8, 1, 32, 8, 1, 0, NULL,
                             (void *[]){&from, &to, &side, &side}, NULL));
    CHECK(cuCtxSynchronize());
    return (now() - start) / LAUNCHES;
}

int main(int argc, char **argv)
{
    unsigned side = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4096;
    struct gpu gpu = open_gpu(0);
    CUmodule images;
    CUfunction smooth;
    CUtexObject texture;
    CUsurfObject surface;
    CUDA_RESOURCE_DESC from = make_array(side), to = make_array(side);
    CUDA_TEXTURE_DESC t = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP},
                           .filterMode = CU_TR_FILTER_MODE_LINEAR};
    double best = 1e9;
    CHECK(cuModuleLoadData(&images, images_ptx));
    CHECK(cuModuleGetFunction(&smooth, images, "smooth"));
    CHECK(cuTexObjectCreate(&texture, &from, &t, NULL));
    CHECK(cuSurfObjectCreate(&surface, &to));
    launches(smooth, side, texture, surface);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double each = launches(smooth, side, texture, surface);
        best = each < best ? each : best;
    }
    printf("{\"figure\": \"filter a texture of %u x %u\", \"value\": %.6g, \"unit\": \"us\"}\n",
           side, side, best * 1e6);
    close_gpu(&gpu);
    return 0;
}

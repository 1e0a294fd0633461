// SPDX-License-Identifier: BSD-3-Clause
// Compiles the .cu sources of tests/ptx/kernels to PTX, where nvcc is at hand.
#ifndef RGPU_TESTS_PTX_NVCC_H
#define RGPU_TESTS_PTX_NVCC_H

#include <unistd.h>

#include "tests/ptx/engine.h"

static inline const char *nvcc_path(void)
{
    static const char *const places[] = {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"};
    const char *named = getenv("NVCC");

    if (named)
        return named;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

// PTX of a source with these options; to be freed.
static inline char *nvcc_compile(const char *source, const char *options)
{
    char directory[] = "/tmp/rgpu-ptx.XXXXXX", command[1024], path[64], *text;
    size_t room = 1 << 24;
    FILE *file;

    if (!mkdtemp(directory))
        bail("cannot make a directory");
    snprintf(path, sizeof(path), "%s/k.ptx", directory);
    snprintf(command, sizeof(command), "%s -ptx %s -o %s %s </dev/null", nvcc_path(), options, path,
             source);
    if (system(command))
        bail("%s failed", command);
    file = fopen(path, "r");
    text = calloc(1, room);
    if (!file || !text || !fread(text, 1, room - 1, file))
        bail("cannot read %s", path);
    fclose(file);
    unlink(path);
    rmdir(directory);
    return text;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Several copies of the library in one process, as interpreters and plugins have them, or one that
// prefers its own symbols. Each copy has a session of its own.
//
//     loaded-apart namespaces|deepbind
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { SIZE = 1 << 20 };

static int call_of(void *library, const char *name, uint64_t a, uint64_t b, uint64_t c)
{
    int (*function)(uint64_t, uint64_t, uint64_t);
    *(void **)(void *)&function = dlsym(library, name);
    if (!function)
        bail("%s", name);
    return function(a, b, c);
}
#define CALL(library, name, a, b, c) \
    is_int(call_of(library, name, (uint64_t)(uintptr_t)(a), (uint64_t)(b), (uint64_t)(c)), 0, \
           "%s: " name, what)

struct copy {
    void *library, *context;
    uint64_t memory;
};

static void begin(struct copy *copy, const char *what, unsigned char value)
{
    if (!copy->library)
        bail("%s: %s", what, dlerror());
    CALL(copy->library, "cuInit", NULL, 0, 0);
    CALL(copy->library, "cuDevicePrimaryCtxRetain", &copy->context, 0, 0);
    CALL(copy->library, "cuCtxSetCurrent", copy->context, 0, 0);
    CALL(copy->library, "cuMemAlloc_v2", &copy->memory, SIZE, 0);
    CALL(copy->library, "cuMemsetD8_v2", (void *)(uintptr_t)copy->memory, value, SIZE);
}

static void end(struct copy *copy, const char *what, unsigned char value)
{
    unsigned char *bytes = calloc(1, SIZE);
    size_t wrong = 0;
    CALL(copy->library, "cuMemcpyDtoH_v2", bytes, copy->memory, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        wrong += bytes[i] != value;
    is_int((int64_t)wrong, 0, "%s: its memory has what it wrote", what);
    CALL(copy->library, "cuMemFree_v2", (void *)(uintptr_t)copy->memory, 0, 0);
    CALL(copy->library, "cuDevicePrimaryCtxRelease_v2", NULL, 0, 0);
    free(bytes);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"the first copy", "the second copy", "the third copy"};
    struct copy copies[3] = {0};
    int count = argc > 1 && !strcmp(argv[1], "namespaces") ? 3 : 1;
    copies[0].library =
        dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | (count == 1 ? RTLD_DEEPBIND : 0));
    for (int i = 1; i < count; i++)
        copies[i].library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    for (int i = 0; i < count; i++)
        begin(&copies[i], names[i], (unsigned char)(i + 1));
    for (int i = 0; i < count; i++)
        end(&copies[i], names[i], (unsigned char)(i + 1));
    return done();
}

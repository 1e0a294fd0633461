// SPDX-License-Identifier: BSD-3-Clause
// usage: entry_points <SYMBOLS
//
// The entry points that libraries use exist: each name that is read, by name and by
// cuGetProcAddress, and each slot of the private tables. Libraries call these without a check.
#include <dlfcn.h>
#include <string.h>

#include "tests/programs/driver.h"

// The tables that the runtime, cuBLAS, cuBLASLt, cuFFT, cuSOLVER, cuSPARSE, cuDNN, cuRAND and NCCL
// of CUDA 13 request.
static const char *const tables[] = {
    "6bd5fb6c5bf4e74a8987d93912fd9df9", "42d85a8123f6cb478298f6e78a3aecdc",
    "a094798c2e742e7493f20800200c0a66", "0ca50b8c1004929a89a7d0df10e77286",
    "195bcbf4d67d024aacc51d29cea631ae", "b10541e1f7c7c74a9f64f223be99f1e2",
    "d4082055bde6704b8d34ba123c66e1f2", "263e88607cd2614392f6bbd5006dfa7e",
    "21318c60971432488ca641ff7324c8f2", "6e163fbeb958444d835ce182aff1991e",
    "1734dc26800d47458726c0f1e7dd8bca",
};
// This one begins with a function where the others have their size.
static const char storage[] = "c693336e1121df11a8c368f355d89593";
enum { STORAGE_SLOTS = 4 };

static CUuuid identifier(const char *hex)
{
    CUuuid id;
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        id.bytes[i] = (char)byte;
    }
    return id;
}

static unsigned empty_slots(void *const *slots, size_t from, size_t count)
{
    unsigned empty = 0;
    for (size_t i = from; i < count; i++)
        empty += !slots[i];
    return empty;
}

static void private_tables(void)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        CUuuid id = identifier(tables[i]);
        const void *table = NULL;
        CUresult result = cuGetExportTable(&table, &id);
        void *const *slots = table;
        size_t count = slots ? (size_t)slots[0] / sizeof(void *) : 0;
        ok(result == CUDA_SUCCESS && count >= 2 && !empty_slots(slots, 1, count),
           "no place of the table %.8s is empty (%zu)", tables[i], count);
    }
    CUuuid id = identifier(storage);
    const void *table = NULL;
    ok(cuGetExportTable(&table, &id) == CUDA_SUCCESS && table &&
           !empty_slots(table, 0, STORAGE_SLOTS),
       "nor one of the table %.8s", storage);
}

// The name without the suffixes of its versions and variants.
static void base_of(const char *symbol, char *base, size_t size)
{
    static const char *const variants[] = {"_ptsz", "_ptds"};
    snprintf(base, size, "%s", symbol);
    for (size_t i = 0; i < 2; i++) {
        char *end = strstr(base, variants[i]);
        if (end)
            *end = '\0';
    }
    size_t length = strlen(base);
    if (length > 3 && base[length - 3] == '_' && base[length - 2] == 'v')
        base[length - 3] = '\0';
}

static void names(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    char symbol[128], base[128];
    unsigned count = 0, missing = 0;
    while (fscanf(stdin, "%127s", symbol) == 1) {
        const cuuint64_t flags[] = {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
        bool here = dlsym(library, symbol) != NULL;
        base_of(symbol, base, sizeof(base));
        for (int i = 0; i < 3; i++) {
            void *function = NULL;
            CUdriverProcAddressQueryResult status;
            here = here &&
                   cuGetProcAddress_v2(base, &function, CUDA_VERSION, flags[i], &status) ==
                       CUDA_SUCCESS &&
                   function && status == CU_GET_PROC_ADDRESS_SUCCESS;
        }
        if (!here)
            printf("# missing: %s\n", symbol);
        missing += !here;
        count++;
    }
    ok(count > 500 && !missing, "each of %u names is a function", count);
}

int main(void)
{
    CHECK(cuInit(0));
    private_tables();
    names();
    return done();
}

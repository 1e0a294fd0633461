// SPDX-License-Identifier: BSD-3-Clause
// Calls private tables of the driver as cuBLASLt does, without a check of the result. Prints the
// reported processors of the GPU, for comparison with another source.
#include "tests/programs/driver.h"

static CUuuid identifier(const unsigned char bytes[16])
{
    CUuuid id;
    memcpy(id.bytes, bytes, sizeof id.bytes);
    return id;
}

static void processors(const struct gpu *gpu)
{
    static const unsigned char bytes[16] = {0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45,
                                            0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b, 0xca};
    CUuuid id = identifier(bytes);
    const void *table = NULL;
    unsigned missing = 0;
    gives(cuGetExportTable(&table, &id), CUDA_SUCCESS, "the table of processors is there");
    if (!table)
        return;
    void *const *slots = table;
    is_int((int64_t)(uintptr_t)slots[0], 17 * sizeof(void *), "with its seventeen slots");
    for (int i = 1; i < 17; i++)
        missing += !slots[i];
    is_int(missing, 0, "none of which is NULL");

    CUresult (*groups_of)(unsigned char **, unsigned char **) = slots[4];
    CUresult (*give_back)(unsigned char *, unsigned char *) = slots[13];
    unsigned char *groups = NULL, *places = NULL;
    CUresult result = groups_of(&groups, &places);
    int pairs = device_attribute(gpu->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / 2;
    printf("# groups");
    for (int i = 0; result == CUDA_SUCCESS && groups && places && i < pairs; i++)
        printf(" %d:%d", groups[i], places[i]);
    printf(" (result %d)\n", (int)result);
    if (result == CUDA_SUCCESS && groups)
        gives(give_back(groups, places), CUDA_SUCCESS, "what the table gave is taken back");
    else
        ok(!groups && result != CUDA_SUCCESS, "where it does not tell, it gives nothing");
}

int main(void)
{
    static const unsigned char strange[16] = "nobody knows me";
    CUuuid id = identifier(strange);
    struct gpu gpu = open_gpu(0);
    processors(&gpu);
    for (int i = 0; i < 2; i++) {
        const void *table = &gpu;
        ok(cuGetExportTable(&table, &id) != CUDA_SUCCESS, "an unknown table is refused");
        // A local driver has it; the log of a remote one says what to do.
        static const unsigned char of_cupti[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
                                                   0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
        id = identifier(of_cupti);
        (void)cuGetExportTable(&table, &id);
    }
    close_gpu(&gpu);
    return done();
}

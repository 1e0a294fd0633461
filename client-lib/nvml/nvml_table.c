// SPDX-License-Identifier: BSD-3-Clause
// The private table that nvidia-smi requests, reconstructed from the calls of an nvidia-smi to its
// driver 580. Its first word is its size in bytes. nvidia-smi calls the other entries by their
// index, and does without those that return "not supported". No entry is empty, since a call of an
// empty one would crash.
#include <string.h>

#include "client-lib/nvml/nvml_library.h"

enum {
    TABLE_WORDS = 512, // more than any known driver has
    SLOT_LOG = 26,
    SLOT_HAS_SAMPLES = 72,
    SLOT_PCI_BUS_ID = 81,
    SLOT_PROCESS_SAMPLES = 145,
    SLOT_COMPUTE_PROCESSES = 213,
    SLOT_GRAPHICS_PROCESSES = 214,
    SLOT_MPS_PROCESSES = 215,
};

static const uint8_t table_id[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                     0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};

static int not_supported(void)
{
    return NVML_NOT_SUPPORTED;
}

// nvidia-smi passes all that it prints, for the driver's debug log.
static int take_log_line(const char *format, const char *where, const char *text)
{
    return NVML_OK;
}

// Reports that utilization can be sampled, which nvidia-smi dmon queries first.
static int has_samples(void *device, unsigned *yes)
{
    struct lease_gpu *gpu;
    int result = yes ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *yes = 1;
    nvml_leave();
    return NVML_OK;
}

static int get_pci_bus_id(unsigned index, char *text, unsigned size)
{
    struct lease_gpu *gpu;
    int result = text ? nvml_enter_device(nvml_handle(index < NVML_GPUS_MAX ? index : 0), &gpu)
                      : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = index < nvml_state.count ? nvml_put_text(gpu->said.pci, text, size)
                                      : NVML_INVALID_ARGUMENT;
    nvml_leave();
    return result;
}

static int get_compute_processes(void *device, unsigned *count, void *out)
{
    return processes_list(device, count, out, sizeof(struct nvml_named_process));
}

static int get_no_processes(void *device, unsigned *count, void *out)
{
    struct lease_gpu *gpu;
    int result = count ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *count = 0;
    nvml_leave();
    return NVML_OK;
}

// Without these, nvidia-smi pmon still shows the processes.
static int no_process_samples(void)
{
    return NVML_NOT_FOUND;
}

static uintptr_t table[TABLE_WORDS];

static void nvml_table_fill(void)
{
    table[0] = sizeof(table);
    for (unsigned i = 1; i < TABLE_WORDS; i++)
        table[i] = (uintptr_t)not_supported;
    table[SLOT_LOG] = (uintptr_t)take_log_line;
    table[SLOT_HAS_SAMPLES] = (uintptr_t)has_samples;
    table[SLOT_PCI_BUS_ID] = (uintptr_t)get_pci_bus_id;
    table[SLOT_PROCESS_SAMPLES] = (uintptr_t)no_process_samples;
    table[SLOT_COMPUTE_PROCESSES] = (uintptr_t)get_compute_processes;
    table[SLOT_GRAPHICS_PROCESSES] = (uintptr_t)get_no_processes;
    table[SLOT_MPS_PROCESSES] = (uintptr_t)get_no_processes;
}

NVML_EXPORT(nvmlInternalGetExportTable, const void **out, const void *id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!out || !id)
        return NVML_INVALID_ARGUMENT;
    *out = NULL;
    if (memcmp(id, table_id, sizeof(table_id)) != 0)
        return NVML_NOT_FOUND;
    pthread_once(&once, nvml_table_fill);
    *out = table;
    return NVML_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
// Reports the groups of a GPU's multiprocessors, which only a private table of the driver contains.
#include <string.h>

#include "common/base/log.h"
#include "proto/wire.h"
#include "worker_driver.h"
#include "worker_serve.h"

// The table, as far as it is known: its first slot holds its size in bytes.
enum { SLOT_GROUPS = 4, SLOT_GIVE_BACK = 13 };
typedef CUresult (*groups_slot)(const uint8_t **groups, const uint8_t **places);
typedef CUresult (*give_back_slot)(const uint8_t *groups, const uint8_t *places);

static void *const *serve_processors_find_table(void)
{
    static const CUuuid id = {{(char)0x17, (char)0x34, (char)0xdc, (char)0x26, (char)0x80,
                               (char)0x0d, (char)0x47, (char)0x45, (char)0x87, (char)0x26,
                               (char)0xc0, (char)0xf1, (char)0xe7, (char)0xdd, (char)0x8b,
                               (char)0xca}};
    const void *table = NULL;

    if (!driver.cuGetExportTable || driver.cuGetExportTable(&table, &id) != CUDA_SUCCESS || !table)
        return NULL;
    void *const *slots = table;
    if ((uintptr_t)slots[0] <= SLOT_GIVE_BACK * sizeof(*slots)) {
        log_warn("the driver's table of processors has another form bytes=%zu", (size_t)slots[0]);
        return NULL;
    }
    return slots;
}

// The driver gives two bytes for each pair of multiprocessors of the current context's GPU.
static uint32_t pairs_of_current(struct serve *serve)
{
    CUdevice device = 0;
    int processors = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (!serve_failed(serve))
        serve_fail(serve,
                   driver.cuDeviceGetAttribute(&processors,
                                               CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    return processors > 0 ? (uint32_t)processors / 2 : 0;
}

void serve_processor_groups(struct serve *serve, const struct args_processor_groups *args)
{
    const uint8_t *groups = NULL, *places = NULL;
    void *const *table = serve_processors_find_table();
    uint32_t pairs = pairs_of_current(serve);

    if (!table)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    else if (pairs > WIRE_PAIRS_MAX || 2 * pairs > serve_reply_room(serve, args->reply_room))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        serve_fail(serve, ((groups_slot)table[SLOT_GROUPS])(&groups, &places));
    if (serve_failed(serve))
        return;
    if (groups && places) {
        memcpy(serve->bytes, groups, pairs);
        memcpy(serve->bytes + pairs, places, pairs);
    }
    serve_reply_bytes(serve, serve->bytes, groups && places ? 2 * pairs : 0);
    ((give_back_slot)table[SLOT_GIVE_BACK])(groups, places);
}

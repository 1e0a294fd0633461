// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/carriers.h"

#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/staged/deliver.h"

const struct carrier *carrier = &carrier_mapped;

int carrier_start(enum link_memory memory)
{
    static const struct carrier *const rows[] = {[LINK_MEMORY_SHARED] = &carrier_mapped,
                                                 [LINK_MEMORY_WINDOW] = &carrier_mapped,
                                                 [LINK_MEMORY_REACHED] = &carrier_one_sided,
                                                 [LINK_MEMORY_APART] = &carrier_staged};

    carrier = rows[memory];
    deliver_prepare();
    int err = carrier->start();
    held_frees_start();
    return err;
}

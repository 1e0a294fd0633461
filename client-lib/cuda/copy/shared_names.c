// SPDX-License-Identifier: BSD-3-Clause
// Names of host memory that the box maps, or accesses by RDMA.
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/objects/addresses.h"

bool copy_shared_name(const struct box_session *session, const void *host, size_t size,
                      uint64_t *name)
{
    struct allocation found;
    uint64_t address = (uintptr_t)host;
    if (!session->staging || !memory_find(address, &found) || found.mirrored ||
        !(found.mapped || found.reached) || found.session != session ||
        size > found.base + found.size - address)
        return false;
    if (found.reached && !found.copied)
        memory_mark_copied(address);
    *name = WIRE_HOST(found.region, address - found.base + found.region_offset);
    return true;
}

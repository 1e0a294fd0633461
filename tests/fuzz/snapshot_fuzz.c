// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a box says of its devices to a client's library. Whatever is taken has as many
// devices as it says, and their texts end.
#include <stdlib.h>
#include <string.h>

#include "client-lib/session/snapshot_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct box_session session;

    session.devices = NULL;
    session.peers = NULL;
    if (snapshot_take(&session, data, size) == 0)
        for (int i = 0; i < (int)session.device_count; i++) {
            const struct wire_device *device = &session.devices[i];
            if (strlen(device->name) >= sizeof(device->name) ||
                strlen(device->pci_bus_id) >= sizeof(device->pci_bus_id))
                abort();
        }
    free(session.devices);
    free(session.peers);
    return 0;
}

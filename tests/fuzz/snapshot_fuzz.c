// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a box's description of its devices to a client's library. An accepted description
// has as many devices as it announces, its texts are terminated, and its known requests are only
// those that this library sends.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/session/snapshot_read.h"
#include "cuda_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_request(unsigned op)
{
    for (unsigned i = 0; i < CUDA_REQUESTS; i++)
        if (cuda_requests[i].op == op)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct box_session session;

    session.devices = NULL;
    session.peers = NULL;
    memset(session.knows, 0, sizeof(session.knows));
    session.forced_paths = 0;
    if (snapshot_take(&session, data, size) == 0)
        for (int i = 0; i < (int)session.device_count; i++) {
            const struct wire_device *device = &session.devices[i];
            if (strlen(device->name) >= sizeof(device->name) ||
                strlen(device->pci_bus_id) >= sizeof(device->pci_bus_id))
                abort();
        }
    for (unsigned op = 0; op < SESSION_OPS; op++)
        if (session_knows(&session, op) && !is_request(op))
            abort();
    free(session.devices);
    free(session.peers);
    return 0;
}

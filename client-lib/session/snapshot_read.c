// SPDX-License-Identifier: BSD-3-Clause
// What a box says of its devices when a session begins, taken into the session.
#include "client-lib/session/snapshot_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_ops.h"

int snapshot_take(struct box_session *session, const void *bytes, size_t size)
{
    struct wire_snapshot head; // a copy: in its message it lies where the message put it
    if (size < sizeof(head))
        return -EPROTO;
    memcpy(&head, bytes, sizeof(head));
    if (head.version != CALL_PROTOCOL_VERSION || !head.devices || head.devices > WIRE_DEVICE_MAX)
        return -EPROTO;
    size_t n = head.devices;
    if (size != sizeof(head) + n * sizeof(struct wire_device) + n * n * sizeof(struct wire_peer))
        return -EPROTO;
    session->devices = malloc(n * sizeof(*session->devices));
    session->peers = malloc(n * n * sizeof(*session->peers));
    if (!session->devices || !session->peers)
        return -ENOMEM;
    memcpy(session->devices, (const uint8_t *)bytes + sizeof(head), n * sizeof(struct wire_device));
    memcpy(session->peers, (const uint8_t *)bytes + sizeof(head) + n * sizeof(struct wire_device),
           n * n * sizeof(struct wire_peer));
    session->device_count = head.devices;
    session->driver_version = head.driver_version;
    session->budgeted = head.budgeted != 0;
    for (size_t i = 0; i < n; i++) {
        struct wire_device *device = &session->devices[i];
        device->name[sizeof(device->name) - 1] = 0;
        device->pci_bus_id[sizeof(device->pci_bus_id) - 1] = 0;
    }
    return 0;
}

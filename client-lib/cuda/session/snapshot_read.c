// SPDX-License-Identifier: BSD-3-Clause
// Reads a box's description of its devices when a session begins.
#include "client-lib/cuda/session/snapshot_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls_version.h"
#include "common/base/cursor.h"
#include "cuda_ops.h"

_Static_assert((int)CUDA_OP_LIMIT <= (int)SESSION_OPS, "a bit for each request");

static void know(struct box_session *session, uint32_t op)
{
    session->knows[op / 64] |= UINT64_C(1) << op % 64;
}

static bool snapshot_read_is_ours(const struct wire_known_call *call)
{
    for (unsigned i = 0; i < CUDA_REQUESTS; i++)
        if (cuda_requests[i].op == call->op)
            return cuda_requests[i].form == call->form;
    return false;
}

static void take_calls(struct box_session *session, struct cursor_reader *section)
{
    while (cursor_left(section) >= sizeof(struct wire_known_call)) {
        struct wire_known_call call;
        cursor_copy(section, &call, sizeof(call));
        if (snapshot_read_is_ours(&call))
            know(session, call.op);
    }
}

static void take_paths(struct box_session *session, const void *section, size_t size)
{
    struct wire_paths paths;

    if (size < sizeof(paths) || session->forced_paths)
        return;
    memcpy(&paths, section, sizeof(paths));
    session->forced_paths = paths.forced;
}

static int take_sections(struct box_session *session, struct cursor_reader *snapshot)
{
    while (cursor_left(snapshot)) {
        struct wire_section head;
        cursor_copy(snapshot, &head, sizeof(head));
        const void *view = cursor_take(snapshot, head.size);
        if (view && head.kind == SECTION_PATHS)
            take_paths(session, view, head.size);
        if (view && head.kind == SECTION_CALLS) {
            struct cursor_reader section = cursor_reader_on(view, head.size);
            take_calls(session, &section);
        }
        if (cursor_left(snapshot))
            cursor_take(snapshot, -head.size & 7);
    }
    return snapshot->failed ? -EPROTO : 0;
}

// A box of the first release sends no sections.
static void know_first(struct box_session *session)
{
    for (unsigned i = 0; i < CUDA_REQUESTS; i++)
        if (cuda_op_known_first(cuda_requests[i].op))
            know(session, cuda_requests[i].op);
}

static int snapshot_read_take_rows(struct box_session *session, struct cursor_reader *snapshot,
                                   size_t n)
{
    session->devices = malloc(n * sizeof(*session->devices));
    session->peers = malloc(n * n * sizeof(*session->peers));
    if (!session->devices || !session->peers)
        return -ENOMEM;
    cursor_copy(snapshot, session->devices, n * sizeof(struct wire_device));
    cursor_copy(snapshot, session->peers, n * n * sizeof(struct wire_peer));
    for (size_t i = 0; i < n; i++) {
        struct wire_device *device = &session->devices[i];
        device->name[sizeof(device->name) - 1] = 0;
        device->pci_bus_id[sizeof(device->pci_bus_id) - 1] = 0;
    }
    return snapshot->failed ? -EPROTO : 0;
}

int snapshot_take(struct box_session *session, const void *bytes, size_t size)
{
    struct cursor_reader snapshot = cursor_reader_on(bytes, size);
    struct wire_snapshot head; // a copy, since the data may be unaligned in the message
    cursor_copy(&snapshot, &head, sizeof(head));
    if (head.version != CALLS_VERSION || !head.devices || head.devices > WIRE_DEVICE_MAX)
        return -EPROTO;
    int err = snapshot_read_take_rows(session, &snapshot, head.devices);
    if (err)
        return err;
    session->device_count = head.devices;
    session->driver_version = head.driver_version;
    session->budgeted = head.budgeted != 0;
    if (cursor_left(&snapshot))
        return take_sections(session, &snapshot);
    know_first(session);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Telling the box what has changed in host memory of which it has a copy, and being told (common/byte_changes.h). No
// stream and no kernel is waited for. Any thread may call.
#ifndef RGPU_CLIENT_HOST_CHANGES_H
#define RGPU_CLIENT_HOST_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"

// A part of the box's copy: that from AT on of REGION.
struct host_part {
    struct box_session *session;
    uint32_t region;
    uint64_t at;
};

// Sends how SIZE bytes of NOW differ from KNOWN, which become that. Later work of the GPU will find them.
CUresult host_changes_send(const struct host_part *part, const uint8_t *now, uint8_t *known,
                           size_t size);
// Makes the changes of the box in MEMORY and in KNOWN.
CUresult host_changes_fetch(const struct host_part *part, uint8_t *memory, uint8_t *known,
                            size_t size);

#endif

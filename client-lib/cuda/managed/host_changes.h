// SPDX-License-Identifier: BSD-3-Clause
// Exchanges changes of mirrored host memory with the box (common/base/byte_changes.h). Does not
// wait for streams or kernels. Thread-safe.
#ifndef RGPU_CLIENT_HOST_CHANGES_H
#define RGPU_CLIENT_HOST_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Part of the box's copy: it begins at offset AT of REGION.
struct host_part {
    struct box_session *session;
    uint32_t region;
    uint64_t at;
};

// Sends the differences between SIZE bytes at NOW and at KNOWN, and updates KNOWN. GPU work that is
// sent later finds the new bytes.
CUresult host_changes_send(const struct host_part *part, const uint8_t *now, uint8_t *known,
                           size_t size);
// Fetches the box's changes into MEMORY and KNOWN.
CUresult host_changes_fetch(const struct host_part *part, uint8_t *memory, uint8_t *known,
                            size_t size);

#endif

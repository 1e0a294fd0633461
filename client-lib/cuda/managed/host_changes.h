// SPDX-License-Identifier: BSD-3-Clause
// Exchanges changes of mirrored host memory with the box (common/base/byte_changes.h). Does not
// wait for streams or kernels. Thread-safe.
#ifndef RGPU_CLIENT_HOST_CHANGES_H
#define RGPU_CLIENT_HOST_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
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
// sent later finds the new bytes. Sets *CHANGED, if not NULL, if there were any.
CUresult host_changes_send(const struct host_part *part, const uint8_t *now, uint8_t *known,
                           size_t size, bool *changed);
// Fetches the box's changes into MEMORY and KNOWN. APPLYING, if not NULL, is locked while they are
// applied, but not while the answer is awaited. No other thread may fetch the same meanwhile.
CUresult host_changes_fetch(const struct host_part *part, uint8_t *memory, uint8_t *known,
                            size_t size, pthread_mutex_t *applying);

// Stores the box's changes in SIZE bytes from offset AT of the region in CHANGES, of
// WIRE_INLINE_MAX bytes, and their length in *BYTES. *DONE of the bytes have been compared.
CUresult host_changes_ask(const struct host_part *part, uint64_t at, size_t size, uint8_t *changes,
                          size_t *bytes, size_t *done);
// Ends the session because of an impossible answer, and returns its error.
CUresult host_changes_impossible(const struct host_part *part);

#endif

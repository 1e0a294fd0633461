// SPDX-License-Identifier: BSD-3-Clause
// Exchanges changes of mirrored host memory with the box, in the encoding of
// common/base/byte_changes.h. Does not wait for streams or kernels. Thread-safe. KNOWN is a copy of
// the last contents that both sides had.
#ifndef RGPU_CLIENT_HOST_CHANGES_H
#define RGPU_CLIENT_HOST_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// A part of the box's mirror.
struct host_part {
    struct box_session *session;
    uint32_t region; // number of the mirror's region
    uint64_t at;     // offset of the part in the region, in bytes
};

// Sends the bytes at NOW that differ from KNOWN (SIZE bytes each), and updates KNOWN. GPU work that
// is sent later uses the new bytes. If there were differences and CHANGED is not NULL, *CHANGED
// becomes true.
CUresult host_changes_send(const struct host_part *part, const uint8_t *now, uint8_t *known,
                           size_t size, bool *changed);
// A part of which the box's changes are fetched, and where they go.
struct host_fetch {
    struct host_part part;
    uint8_t *memory, *known; // SIZE bytes each
    size_t size;
};
// Fetches the box's changes. APPLYING, if not NULL, is locked while they are applied, but not
// during the wait for the box's answer. No other thread may fetch the same part at the same time.
CUresult host_changes_fetch(const struct host_fetch *fetch, pthread_mutex_t *applying);
// Fetches the changes of COUNT parts of one session, at most WIRE_MIRROR_PARTS_MAX, and waits once
// where they are few. LIST serves as scratch memory.
CUresult host_changes_fetch_all(struct host_fetch *list, unsigned int count,
                                pthread_mutex_t *applying);

// Requests the box's changes in SIZE bytes from offset AT of the region. CHANGES, a buffer of
// WIRE_INLINE_MAX bytes, gets *BYTES bytes of encoded changes. *DONE is the number of bytes of the
// region that they cover, which may be fewer than SIZE.
CUresult host_changes_ask(const struct host_part *part, uint64_t at, size_t size, uint8_t *changes,
                          size_t *bytes, size_t *done);
// Ends the session of PART because the box's answer was malformed, and returns the session's error.
CUresult host_changes_impossible(const struct host_part *part);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Control frames from a peer: whatever decodes must encode again to the same bytes, with zeros for
// what an older peer leaves out.
#include <stdlib.h>
#include <string.h>

#include "common/net/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union control_message message;
static uint8_t again[CONTROL_HEADER_BYTES + (2 << 20)];

static void check_round_trip(const uint8_t *data, const struct control_header *header)
{
    size_t whole = CONTROL_HEADER_BYTES + header->size;
    int encoded = control_encode(header->type, &message, again, sizeof(again));
    size_t made = (size_t)encoded;

    // An open message may carry more than we know of, or lack fields that came later.
    if (encoded < 0 || (made != whole && !control_message_open(header->type)))
        abort();
    if (memcmp(again + CONTROL_HEADER_BYTES, data + CONTROL_HEADER_BYTES,
               (made < whole ? made : whole) - CONTROL_HEADER_BYTES))
        abort();
    for (size_t i = whole; i < made; i++)
        if (again[i])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control_header header;

    if (size < CONTROL_HEADER_BYTES || control_parse_header(data, &header))
        return 0;
    if (header.size > size - CONTROL_HEADER_BYTES)
        header.size = (uint32_t)(size - CONTROL_HEADER_BYTES);
    struct cursor_reader body = cursor_reader_on(data + CONTROL_HEADER_BYTES, header.size);
    memset(&message, 0, sizeof(message));
    if (!control_decode_body(header.type, &body, &message))
        check_round_trip(data, &header);
    return 0;
}

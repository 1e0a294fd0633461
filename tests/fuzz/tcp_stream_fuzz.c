// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends the input over a tcp link and goes away.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/wire.h"
#include "transport/link/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int receive_all(struct link *link)
{
    static uint8_t record[WIRE_RECORD_MAX];
    uint8_t payload[40];
    uint32_t claimed;
    int n;

    while ((n = link_receive(link, record, sizeof(record), 5000)) >= 0) {
        if (!n) // nothing but acknowledgements
            continue;
        memcpy(&claimed, record, sizeof(claimed));
        if (claimed != (uint32_t)n || n % 8 || (size_t)n > sizeof(record))
            abort();
        if (record[5] == 1)
            link_receive_bulk(link, payload, record[6] % sizeof(payload));
        link_pending(link);
    }
    return n;
}

static void receive_from(const uint8_t *data, size_t size, bool survives)
{
    const struct link_options options = {0};
    const struct link_reconnect plan = {.timeout_ms = 0};
    struct link *link;
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return;
    if (size && write(ends[1], data, size) != (ssize_t)size)
        abort();
    close(ends[1]);
    if (link_tcp_open(ends[0], NULL, &options, &link))
        abort();
    if (survives && link_tcp_survive(link, &plan))
        abort();
    r = receive_all(link);
    if (r != -EPROTO && r != -EPIPE)
        abort();
    link_free(&link);
}

// The link of a session that survives its connection reads acknowledgements, too.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    receive_from(data, size, false);
    receive_from(data, size, true);
    return 0;
}

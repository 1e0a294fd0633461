// SPDX-License-Identifier: BSD-3-Clause
// Tests that over tcp, a record often followed by a flush leaves together with the flush in one
// segment, counted at the socket and not timed. A record without a flush arrives, too.
#include <linux/tcp.h>
#include <netinet/in.h>

#include "tests/transport/pairs.h"

enum { ROW = 40, TURNS_MAX = 40000 };

static uint64_t segments(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        bail("TCP_INFO");
    return info.tcpi_data_segs_out;
}

static bool send_record(struct link *link, uint32_t value, bool flush)
{
    uint32_t *record = link_reserve(link, 64);

    if (!record)
        return false;
    record[1] = value;
    if (flush)
        return link_commit_flush(link) == 0;
    link_commit(link);
    return true;
}

// A launch and its synchronization: whether both have come, in their order.
static bool send_pair(struct link *from, struct link *to, uint32_t value)
{
    return send_record(from, value, false) && send_record(from, value + 1, true) &&
           receive_value(to, 20000) == value && receive_value(to, 20000) == value + 1;
}

static void check_row(int fd, struct link *from, struct link *to)
{
    uint32_t row = 0, turn;

    for (turn = 0; turn < TURNS_MAX && row < ROW; turn++) {
        uint64_t before = segments(fd);
        if (!send_pair(from, to, 1 + 2 * turn))
            break;
        row = segments(fd) - before == 1 ? row + 1 : 0;
    }
    is_int((int)row, ROW, "pairs of records leave as one segment each, %d in a row", ROW);
}

static void check_alone(struct link *from, struct link *to)
{
    bool came = true;

    for (uint32_t i = 1; i <= 20 && came; i++)
        came = send_record(from, i, false) && receive_value(to, 20000) == i;
    ok(came, "records that nobody flushes arrive, though flushes used to follow");
}

static void check_ahead(struct link *from, struct link *to)
{
    uint32_t *record = link_reserve(from, 64);

    record[1] = 77;
    link_commit_ahead(from);
    ok(send_record(from, 78, true) && receive_value(to, 20000) == 77 &&
           receive_value(to, 20000) == 78,
       "a record that was committed ahead of another comes before it");
}

int main(void)
{
    struct link_options options = {.spin_us = 0, .block_size = 4096, .block_count = 1};
    struct link *links[2];
    int ends[2];

    pair_tcp_sockets(ends);
    for (int i = 0; i < 2; i++)
        if (link_tcp_open(ends[i], NULL, &options, &links[i]))
            bail("link_tcp_open");
    check_row(ends[0], links[0], links[1]);
    check_alone(links[0], links[1]);
    check_ahead(links[0], links[1]);
    for (int i = 0; i < 2; i++)
        link_free(&links[i]);
    return done();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/control_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

static int control_stream_await(int fd, short events, int64_t deadline_ms)
{
    struct pollfd wait = {.fd = fd, .events = events};
    int64_t left = deadline_ms - clock_ms();
    int result = poll(&wait, 1, left > 0 ? (int)left : 0);

    if (result < 0)
        return errno == EINTR ? 0 : -errno;
    return result ? 0 : -ETIMEDOUT;
}

static ssize_t system_result(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t control_stream_send_some(const struct control_stream *stream, const void *data,
                                        size_t size)
{
    if (stream->tls)
        return tls_send(stream->tls, data, size);
    return system_result(send(stream->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT));
}

static ssize_t receive_some(const struct control_stream *stream, void *data, size_t size)
{
    ssize_t n = stream->tls ? tls_receive(stream->tls, data, size)
                            : system_result(recv(stream->fd, data, size, MSG_DONTWAIT));

    return n ? n : -ECONNRESET;
}

static int await_more(const struct control_stream *stream, ssize_t err, short events,
                      int64_t deadline_ms)
{
    if (err != -EAGAIN)
        return (int)err;
    return control_stream_await(stream->fd, stream->tls ? tls_wants(stream->tls) : events,
                                deadline_ms);
}

static int control_stream_send_all(const struct control_stream *stream, const uint8_t *data,
                                   size_t size, int64_t deadline_ms)
{
    while (size) {
        ssize_t n = control_stream_send_some(stream, data, size);
        int err = n < 0 ? await_more(stream, n, POLLOUT, deadline_ms) : 0;
        if (err)
            return err;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static int receive_all(const struct control_stream *stream, uint8_t *data, size_t size,
                       int64_t deadline_ms)
{
    while (size) {
        ssize_t n = receive_some(stream, data, size);
        int err = n < 0 ? await_more(stream, n, POLLIN, deadline_ms) : 0;
        if (err)
            return err;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int control_send(const struct control_stream *stream, enum control_message_type type,
                 const void *message, int64_t deadline_ms)
{
    size_t size = CONTROL_HEADER_BYTES + control_message_max(type);
    SCOPED_FREE uint8_t *frame = malloc(size);

    if (!frame)
        return -ENOMEM;
    int used = control_encode(type, message, frame, size);
    return used < 0 ? used : control_stream_send_all(stream, frame, (size_t)used, deadline_ms);
}

int control_receive(const struct control_stream *stream, struct control_frame *frame,
                    int64_t deadline_ms)
{
    uint8_t head[CONTROL_HEADER_BYTES];
    int err = receive_all(stream, head, sizeof(head), deadline_ms);

    if (!err)
        err = control_parse_header(head, &frame->header);
    if (!err)
        err = control_frame_room(frame, frame->header.size);
    if (!err)
        err = receive_all(stream, frame->body, frame->header.size, deadline_ms);
    if (err)
        frame->header = (struct control_header){0};
    return err;
}

int control_expect(const struct control_stream *stream, enum control_message_type type,
                   void *message, int64_t deadline_ms)
{
    struct control_frame frame = {0};
    int err = control_receive(stream, &frame, deadline_ms);

    if (!err)
        err = control_decode(&frame, type, message);
    control_frame_free(&frame);
    return err;
}

int control_secure(const struct control_stream *stream, int64_t deadline_ms)
{
    int err;

    while ((err = tls_handshake(stream->tls)) == -EAGAIN) {
        err = control_stream_await(stream->fd, tls_wants(stream->tls), deadline_ms);
        if (err)
            break;
    }
    return err;
}

int control_end_tls(struct control_stream *stream, int64_t deadline_ms)
{
    int err;

    while ((err = tls_end(stream->tls)) == -EAGAIN) {
        err = control_stream_await(stream->fd, tls_wants(stream->tls), deadline_ms);
        if (err)
            break;
    }
    tls_discard(&stream->tls);
    return err;
}

// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes frames, and sends and receives them on packet sockets.
#include "common/net/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ascii.h"
#include "common/base/descriptor.h"
#include "common/net/fdpass.h"
#include "common/base/scope.h"

int control_parse_header(const uint8_t *bytes, struct control_header *out)
{
    struct cursor_reader reader = cursor_reader_on(bytes, CONTROL_HEADER_BYTES);
    struct control_header header = {.size = cursor_u32(&reader), .type = cursor_u16(&reader)};
    size_t max = control_message_max(header.type);

    if (!control_message_name(header.type) || cursor_u16(&reader))
        return -EBADMSG;
    if (control_message_open(header.type) && max < CONTROL_OPEN_MAX)
        max = CONTROL_OPEN_MAX;
    if (header.size > max)
        return -EBADMSG;
    *out = header;
    return 0;
}

int control_encode(enum control_message_type type, const void *message, void *frame, size_t size)
{
    if (size < CONTROL_HEADER_BYTES)
        return -EMSGSIZE;
    struct cursor_writer body =
        cursor_writer_on((uint8_t *)frame + CONTROL_HEADER_BYTES, size - CONTROL_HEADER_BYTES);
    control_encode_body(type, message, &body);
    if (body.failed)
        return -EMSGSIZE;
    uint32_t head[2] = {htole32((uint32_t)cursor_written(&body)), htole32((uint16_t)type)};
    memcpy(frame, head, sizeof(head));
    return (int)(CONTROL_HEADER_BYTES + cursor_written(&body));
}

void control_frame_free(struct control_frame *frame)
{
    free(frame->body);
    *frame = (struct control_frame){0};
}

int control_decode(const struct control_frame *frame, enum control_message_type type, void *message)
{
    struct cursor_reader body = cursor_reader_on(frame->body, frame->header.size);

    if (frame->header.type != type)
        return -EPROTO;
    return control_decode_body(type, &body, message);
}

int control_frame_room(struct control_frame *frame, size_t size)
{
    if (size <= frame->capacity)
        return 0;
    uint8_t *body = realloc(frame->body, size);
    if (!body)
        return -ENOMEM;
    frame->body = body;
    frame->capacity = size;
    return 0;
}

int control_send_packet_with(int fd, enum control_message_type type, const void *message,
                             const int *fds, size_t count)
{
    uint8_t frame[CONTROL_PACKET_MAX];
    int used = control_encode(type, message, frame, sizeof(frame));

    if (used < 0)
        return used;
    return fdpass_send(fd, frame, (size_t)used, fds, count);
}

int control_send_packet(int fd, enum control_message_type type, const void *message, int passed_fd)
{
    return control_send_packet_with(fd, type, message, &passed_fd, passed_fd >= 0 ? 1 : 0);
}

static int take_packet(struct control_frame *frame, const uint8_t *packet, size_t size)
{
    if (size < CONTROL_HEADER_BYTES)
        return -EBADMSG;
    int err = control_parse_header(packet, &frame->header);
    if (!err && frame->header.size != size - CONTROL_HEADER_BYTES)
        err = -EBADMSG;
    if (!err)
        err = control_frame_room(frame, frame->header.size);
    if (!err && frame->header.size)
        memcpy(frame->body, packet + CONTROL_HEADER_BYTES, frame->header.size);
    return err;
}

int control_receive_packet_with(int fd, struct control_frame *frame, int *fds, size_t *count)
{
    uint8_t packet[CONTROL_PACKET_MAX];
    ssize_t n = fdpass_receive(fd, packet, sizeof(packet), fds, count);
    int err = n < 0 ? (int)n : n ? take_packet(frame, packet, (size_t)n) : -ECONNRESET;

    if (!err)
        return 0;
    frame->header = (struct control_header){0};
    for (size_t i = 0; n >= 0 && i < *count; i++)
        fdpass_discard(fds[i]);
    *count = 0;
    return err;
}

int control_receive_packet(int fd, struct control_frame *frame, int *passed_fd)
{
    int received = -1;
    size_t count = 1;
    int err = control_receive_packet_with(fd, frame, &received, &count);

    if (!err)
        *passed_fd = count ? received : -1;
    return err;
}

int control_boot_id(uint8_t out[CONTROL_BOOT_ID_BYTES])
{
    char text[64] = "";
    unsigned digits = 0;

    memset(out, 0, CONTROL_BOOT_ID_BYTES);
    SCOPED_FD int fd =
        descriptor_own(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    for (ssize_t i = 0; i < n && digits < 2 * CONTROL_BOOT_ID_BYTES; i++) {
        if (!ascii_is_hex_digit(text[i]))
            continue;
        unsigned value = (unsigned)(text[i] <= '9' ? text[i] - '0' : (text[i] | 32) - 'a' + 10);
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | value);
        digits++;
    }
    return digits == 2 * CONTROL_BOOT_ID_BYTES ? 0 : -EIO;
}

// SPDX-License-Identifier: BSD-3-Clause
// Control packets with a descriptor over a packet socket, and what happens to those that do not
// fit.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/net/fdpass.h"
#include "tests/tap.h"

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static int discarded;

static void note_discarded(int fd)
{
    close(fd);
    discarded++;
}

int main(void)
{
    static struct control_grant grant = {
        .session = 42, .version = 1, .client = "prog 7@host", .devices_count = 64};
    static struct control_grant got;
    struct control_frame frame = {0};
    int pair[2], pipes[2], passed;
    char byte = 'x';

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) || pipe(pipes))
        bail("sockets");
    grant.devices[63].budget = 1ull << 40;
    is_int(control_receive_packet(pair[1], &frame, &passed), -EAGAIN, "nothing there yet");
    is_int(control_send_packet(pair[0], CONTROL_GRANT, &grant, pipes[1]), 0,
           "a grant with a descriptor");
    unsigned before = open_descriptors();
    is_int(control_receive_packet(pair[1], &frame, &passed), 0, "arrives");
    is_int(control_decode(&frame, CONTROL_GRANT, &got), 0, "and is valid");
    ok(got.session == 42 && got.devices_count == 64 && got.devices[63].budget == 1ull << 40 &&
           !strcmp(got.client, "prog 7@host"),
       "with every field");
    ok(write(passed, &byte, 1) == 1 && read(pipes[0], &byte, 1) == 1, "the descriptor works");
    ok(fcntl(passed, F_GETFD) & FD_CLOEXEC, "and is close-on-exec");
    close(passed);
    is_int(control_decode(&frame, CONTROL_STATS, &got), -EPROTO, "another type is refused");

    int two[2] = {pipes[0], pipes[1]};
    is_int(fdpass_send(pair[0], "12345678", 8, two, 2), 0, "two descriptors where one is expected");
    is_int(control_receive_packet(pair[1], &frame, &passed), -EMSGSIZE, "are refused");
    is_int(fdpass_send(pair[0], "garbage!", 8, two, 1), 0, "garbage with a descriptor");
    is_int(control_receive_packet(pair[1], &frame, &passed), -EBADMSG, "is refused");
    is_int(fdpass_send(pair[0], "x", 1, NULL, 0), 0, "a packet shorter than a header");
    is_int(control_receive_packet(pair[1], &frame, &passed), -EBADMSG, "is refused");
    is_int(open_descriptors(), before, "and no descriptor is left over");
    fdpass_distrust(note_discarded);
    int eight[FDPASS_MAX];
    for (int i = 0; i < FDPASS_MAX; i++)
        eight[i] = pipes[0];
    is_int(fdpass_send(pair[0], "12345678", 8, eight, FDPASS_MAX), 0,
           "eight for a program that distrusts its peers");
    is_int(control_receive_packet(pair[1], &frame, &passed), -EMSGSIZE, "are refused");
    is_int(discarded, FDPASS_MAX, "and each of them is left to the program");
    is_int(fdpass_send(pair[0], "garbage!", 8, eight, 1), 0, "garbage with a descriptor");
    is_int(control_receive_packet(pair[1], &frame, &passed), -EBADMSG, "is refused");
    is_int(discarded, FDPASS_MAX + 1, "and its descriptor is left to the program, too");
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends))
        bail("sockets");
    before = open_descriptors();
    is_int(fdpass_send(ends[0], "", 0, eight, 0) + fdpass_send(ends[0], "x", 1, eight, 3) +
               fdpass_send(ends[0], "", 0, eight, 1),
           0, "packets with four descriptors lie in a queue");
    fdpass_close(ends[1]);
    is_int(discarded, FDPASS_MAX + 5, "which are left to the program when the socket is closed");
    is_int(open_descriptors(), before - 1, "as it is");
    ok(fdpass_send(ends[0], "x", 1, eight, 1) < 0, "and no more come");
    close(ends[0]);
    snprintf(grant.client, sizeof(grant.client), "two\nlines");
    is_int(control_send_packet(pair[0], CONTROL_GRANT, &grant, -1), 0, "a text with a line break");
    is_int(control_receive_packet(pair[1], &frame, &passed), 0, "is a whole packet");
    is_int(control_decode(&frame, CONTROL_GRANT, &got), -EBADMSG, "and malformed");
    grant.devices_count = 65;
    is_int(control_send_packet(pair[0], CONTROL_GRANT, &grant, -1), -EMSGSIZE,
           "more devices than the limit are not even sent");
    close(pair[0]);
    is_int(control_receive_packet(pair[1], &frame, &passed), -ECONNRESET, "the end");
    control_frame_free(&frame);
    return done();
}

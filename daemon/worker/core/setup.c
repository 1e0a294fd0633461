// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/setup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/control.h"
#include "transport/link/link.h"

struct setup_command command = {.cupti = "", .nccl = ""};
struct control_setup setup;

int setup_parse(int argc, char **argv)
{
    if (argc != CONTROL_WORKER_ARGUMENTS || strlen(argv[1]) >= sizeof(command.driver) ||
        (strcmp(argv[4], "log") && strcmp(argv[4], "refuse")))
        return -EINVAL;
    strcpy(command.driver, argv[1]);
    command.cupti = argv[2];
    command.nccl = argv[3];
    command.filter_only_logs = !strcmp(argv[4], "log");
    return 0;
}

static int option_of(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, name, &value, &size) ? -1 : value;
}

bool setup_is_offered(void)
{
    return option_of(CONTROL_WORKER_SUPERVISOR_FD, SO_DOMAIN) == AF_UNIX &&
           option_of(CONTROL_WORKER_SUPERVISOR_FD, SO_TYPE) == SOCK_SEQPACKET;
}

static int receive(struct control_frame *frame)
{
    struct pollfd readable = {.fd = CONTROL_WORKER_SUPERVISOR_FD, .events = POLLIN};
    int passed, err;

    do {
        while (poll(&readable, 1, -1) < 0 && errno == EINTR)
            ;
        err = control_receive_packet(CONTROL_WORKER_SUPERVISOR_FD, frame, &passed);
    } while (err == -EAGAIN);
    if (!err && passed >= 0)
        close(passed);
    return err;
}

int setup_receive(void)
{
    struct control_frame frame = {0};
    int err = receive(&frame);

    if (!err)
        err = control_decode(&frame, CONTROL_SETUP, &setup);
    if (!err && setup.list != CONTROL_DIGEST)
        err = -EPROTO;
    control_frame_free(&frame);
    if (!err && setup.worker.spin_us < 0)
        setup.worker.spin_us = link_default_spin_us();
    return err;
}

bool setup_wants_transport(const char *name)
{
    for (uint32_t i = 0; i < setup.transports_count; i++)
        if (!strcmp(setup.transports[i].name, name))
            return true;
    return false;
}

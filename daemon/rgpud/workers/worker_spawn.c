// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/worker_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

int worker_spawn(struct box *box, const struct worker_part *part, const struct worker_ends *ours,
                 const struct worker_ends *theirs, const struct spawner_owner *owner,
                 uint64_t *number)
{
    static struct control_setup setup;
    struct spawner_order order = {.kind = SPAWNER_WORKER,
                                  .user = part->user,
                                  .gpu = part->ordinal,
                                  .mps = *part->mps_pipe != 0};
    int fds[SPAWNER_WORKER_FDS] = {
        [SPAWNER_CONTROL] = theirs->control,      [SPAWNER_REFUSALS] = theirs->refusals,
        [SPAWNER_OUTPUT] = theirs->output,        [SPAWNER_KEPT_CONTROL] = ours->control,
        [SPAWNER_KEPT_REFUSALS] = ours->refusals, [SPAWNER_KEPT_OUTPUT] = ours->output,
        [SPAWNER_DRIVER] = box->driver_fd,        [SPAWNER_CLIENTS] = theirs->clients,
    };

    worker_setup_fill(box, part, &setup);
    setup.has_clients = theirs->clients >= 0;
    // SETUP is sent before the process exists. It waits in the socket, complete or not at all.
    int err = control_send_packet(ours->control, CONTROL_SETUP, &setup, -1);
    return err ? err
               : spawner_start(box, &order, fds,
                               theirs->clients < 0 ? SPAWNER_CLIENTS : SPAWNER_WORKER_FDS, owner,
                               number);
}

void worker_ends_close(const struct worker_ends *ends)
{
    const int fds[] = {ends->control, ends->refusals, ends->output, ends->clients};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
{
    int control[2] = {-1, -1}, refusals[2] = {-1, -1}, output[2] = {-1, -1}, err = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, refusals) || pipe2(output, O_CLOEXEC))
        err = -errno;
    *ours = (struct worker_ends){control[0], refusals[0], output[0], -1};
    *theirs = (struct worker_ends){control[1], refusals[1], output[1], -1};
    if (err) {
        worker_ends_close(ours);
        worker_ends_close(theirs);
        return err;
    }
    fcntl(ours->control, F_SETFL, O_NONBLOCK);
    fcntl(ours->refusals, F_SETFL, O_NONBLOCK);
    fcntl(ours->output, F_SETFL, O_NONBLOCK);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// See worker_spawn.h.
#include "daemon/worker_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/spawn.h"

int worker_spawn(const struct box *box, const struct worker_part *part,
                 const struct worker_ends *ours, const struct worker_ends *theirs, pid_t *pid)
{
    static struct control_setup setup;
    char name[] = "rgpu-worker";
    char *const arguments[] = {name, NULL};
    const int fds[] = {
        -1,
        theirs->output,
        theirs->output,
        [CONTROL_WORKER_SUPERVISOR_FD] = theirs->control,
        [CONTROL_WORKER_DRIVER_FD] = box->driver_fd,
        [CONTROL_WORKER_REFUSALS_FD] = theirs->refusals,
    };
    const struct spawn_request request = {
        .program = box->worker_path,
        .arguments = arguments,
        .environment = box->worker_environment,
        .fds = fds,
        .fd_count = sizeof(fds) / sizeof(fds[0]),
        .own_process_group = true,
    };

    // Before there is a process: what it is told waits for it in the socket, whole or not at all.
    worker_setup_fill(box, part, &setup);
    int err = control_send_packet(ours->control, CONTROL_SETUP, &setup, -1);
    return err ? err : spawn_program(&request, pid);
}

void worker_ends_close(const struct worker_ends *ends)
{
    const int fds[] = {ends->control, ends->refusals, ends->output};

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
    *ours = (struct worker_ends){control[0], refusals[0], output[0]};
    *theirs = (struct worker_ends){control[1], refusals[1], output[1]};
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

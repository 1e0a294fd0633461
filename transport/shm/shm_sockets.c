// SPDX-License-Identifier: BSD-3-Clause
// Sockets on which a worker listens for its client (common/net/worker_socket.h).
#include <stdio.h>
#include <unistd.h>

#include "common/net/worker_socket.h"
#include "transport/shm/shm_private.h"

int shm_listen(const char *name, int shown, struct shm_listener *out)
{
    struct worker_socket_address address;
    int err;

    *out = (struct shm_listener){.fds = {-1, shown}};
    if (name)
        snprintf(out->name, sizeof(out->name), "%s", name);
    err = name ? 0 : worker_socket_name(out->name);
    if (!err)
        err = worker_socket_abstract(out->name, &address);
    if (!err)
        err = out->fds[0] = worker_socket_listen(&address);
    if (err >= 0)
        return 0;
    shm_listener_close(out);
    return err;
}

void shm_listener_close(struct shm_listener *listener)
{
    for (int i = 0; i < SHM_LISTENERS; i++) {
        if (listener->fds[i] >= 0)
            close(listener->fds[i]);
        listener->fds[i] = -1;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// The loop link: a shm link with both ends in one process.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "transport/shm/shm_private.h"

// A second mapping of MEMORY, as a client would have it.
static int map_again(const struct shm_memory *memory, struct shm_memory **out)
{
    int copies[SHM_DIRECTIONS * SHM_EVENTS];
    struct shm_geometry geometry;
    int count = 0, fd = descriptor_own(dup(memory->fd));

    for (int d = 0; fd >= 0 && d < SHM_DIRECTIONS; d++)
        for (int e = 0; e < SHM_EVENTS; e++) {
            copies[count] = descriptor_own(dup(memory->events[d][e]));
            if (copies[count++] < 0)
                goto no_descriptors;
        }
    if (fd < 0)
        return -errno;
    shm_memory_geometry(memory, &geometry);
    return shm_memory_map(fd, copies, &geometry, out);

no_descriptors:
    while (count--)
        if (copies[count] >= 0)
            close(copies[count]);
    close(fd);
    return -EMFILE;
}

int link_loop_pair(const struct link_options *options, struct link **a, struct link **b)
{
    struct shm_memory *worker = NULL, *client = NULL;
    struct link *first;
    int ends[2], r;

    r = shm_memory_new(options, &worker);
    if (r)
        return r;
    r = map_again(worker, &client);
    if (r)
        goto free_memory;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
        r = -errno;
        goto free_memory;
    }
    r = shm_link_new("loop", SHM_WORKER, &worker, ends[0], -1, options, &first);
    if (r)
        goto close_ends;
    r = shm_link_new("loop", SHM_CLIENT, &client, ends[1], -1, options, b);
    if (r) {
        link_free(&first);
        close(ends[1]);
        goto free_memory;
    }
    *a = first;
    return 0;

close_ends:
    close(ends[0]);
    close(ends[1]);
free_memory:
    shm_memory_free(&worker);
    shm_memory_free(&client);
    return r;
}

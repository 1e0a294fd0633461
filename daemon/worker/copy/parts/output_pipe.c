// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/output_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct output_reader {
    int end;
    void (*deliver)(void);
};

int output_pipe_open(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static void *drain_main(void *argument)
{
    const struct output_reader *reader = argument;
    struct pollfd readable = {.fd = reader->end, .events = POLLIN};

    while (poll(&readable, 1, -1) >= 0 || errno == EINTR)
        reader->deliver();
    return NULL;
}

int output_pipe_drain(int end, void (*deliver)(void))
{
    struct output_reader *reader = malloc(sizeof(*reader)); // the thread's, until the process ends
    pthread_t thread;

    if (!reader)
        return -ENOMEM;
    *reader = (struct output_reader){.end = end, .deliver = deliver};
    int err = pthread_create(&thread, NULL, drain_main, reader);
    if (err)
        free(reader);
    else
        pthread_detach(thread);
    return -err;
}

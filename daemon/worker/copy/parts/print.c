// SPDX-License-Identifier: BSD-3-Clause
// The driver writes output of kernels to standard output when it detects the end of a kernel.
// Standard output is a pipe here, and the output is sent to the client before the reply that
// reports the kernel's end.
#include "daemon/worker/copy/parts/print.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/copy/parts/output_pipe.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/core/session.h"

enum { PIPE_BYTES = 1024 * 1024, CHUNK = 32 * 1024 };

static int pipe_end = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int print_capture(void)
{
    int ends[2], err = output_pipe_open(ends);

    if (err)
        return err;
    if (dup2(ends[1], STDOUT_FILENO) < 0)
        return -errno;
    close(ends[1]);
    // More room than usual spares wake-ups; less is only slower.
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    pipe_end = ends[0];
    return 0;
}

static void print_pass_on(void)
{
    static char chunk[CHUNK];
    ssize_t n;

    SCOPED_LOCK(&lock);
    while ((n = read(pipe_end, chunk, sizeof(chunk))) > 0)
        event_send(EVENT_PRINT, chunk, (uint32_t)n, (uint32_t)n);
}

void print_deliver(void)
{
    fflush(stdout);
    print_pass_on();
}

static void start_draining(void)
{
    if (output_pipe_drain(pipe_end, print_pass_on))
        log_warn("no thread for printed text: kernels that print much may hang");
}

void print_expect(void)
{
    pthread_once(&once, start_draining);
    atomic_store(&session.prints, true);
}

// SPDX-License-Identifier: BSD-3-Clause
// A worker gets a pipe instead of the log, which it could truncate or fill. Its output is read in
// small pieces, copied as whole lines, and limited.
#include "daemon/rgpud/workers/worker_output.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/service/allowance.h"

enum {
    PIECE = 4096,
    PIECES_PER_TURN = 4,
    PIECES_AT_THE_END = 64,
    BYTES_AT_ONCE = 1 << 20,
    BYTES_PER_SECOND = 64 << 10,
    BYTES_DROPPED_MAX = 16 << 20,
};

struct worker_output {
    struct event *readable;
    int fd;
    pid_t pid;
    char piece[PIECE];
    size_t used;            // bytes of an unfinished line
    struct allowance bytes; // that may go into the log
    uint64_t dropped;
    worker_output_floods *floods;
    void *argument;
};

static void worker_output_pass_on(struct worker_output *output, size_t size)
{
    if (allowance_take(&output->bytes, (int64_t)size)) {
        // A failed write to the log must never stop the program.
        ssize_t ignored = write(STDERR_FILENO, output->piece, size);
        (void)ignored;
    } else {
        if (!output->dropped)
            log_warn("worker pid=%d writes more than the log takes, the rest is dropped",
                     (int)output->pid);
        output->dropped += size;
    }
    output->used -= size;
    memmove(output->piece, output->piece + size, output->used);
}

// Copies one piece. Returns false if there is no more for now.
static bool worker_output_take_piece(struct worker_output *output)
{
    ssize_t n = read(output->fd, output->piece + output->used, PIECE - output->used);

    if (n <= 0) {
        if (!n && output->readable)
            event_del(output->readable);
        return false;
    }
    output->used += (size_t)n;
    char *end = memrchr(output->piece, '\n', output->used);
    if (end)
        worker_output_pass_on(output, (size_t)(end + 1 - output->piece));
    else if (output->used == PIECE)
        worker_output_pass_on(output, PIECE);
    return true;
}

static void worker_output_take(evutil_socket_t fd, short events, void *argument)
{
    struct worker_output *output = argument;
    bool flooded = output->dropped > BYTES_DROPPED_MAX;

    for (int i = 0; i < PIECES_PER_TURN && worker_output_take_piece(output); i++)
        ;
    if (!flooded && output->dropped > BYTES_DROPPED_MAX)
        output->floods(output->argument, "flooded rgpud with output");
}

void worker_output_finish(struct worker_output *output)
{
    for (int i = 0; i < PIECES_AT_THE_END && worker_output_take_piece(output); i++)
        ;
    if (output->used && output->used < PIECE) {
        output->piece[output->used++] = '\n';
        worker_output_pass_on(output, output->used);
    }
}

struct worker_output *worker_output_new(struct event_base *base, int fd, pid_t pid,
                                        worker_output_floods *floods, void *argument)
{
    struct worker_output *output = calloc(1, sizeof(*output));

    if (!output) {
        close(fd);
        return NULL;
    }
    *output = (struct worker_output){.fd = fd, .pid = pid, .floods = floods, .argument = argument};
    allowance_start(&output->bytes, BYTES_AT_ONCE, BYTES_PER_SECOND);
    output->readable = event_new(base, fd, EV_READ | EV_PERSIST, worker_output_take, output);
    if (!output->readable || event_add(output->readable, NULL))
        worker_output_free(&output);
    return output;
}

void worker_output_free(struct worker_output **output)
{
    if (!*output)
        return;
    if ((*output)->readable)
        event_free((*output)->readable);
    close((*output)->fd);
    free(*output);
    *output = NULL;
}

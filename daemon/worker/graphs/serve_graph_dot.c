// SPDX-License-Identifier: BSD-3-Clause
// Graphviz output of a graph: the driver writes a memory file, which the client reads in parts.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "worker_driver.h"
#include "worker_serve.h"

static char *text; // of the last picture, by the thread that takes requests
static size_t length;

static void serve_graph_dot_forget(void)
{
    free(text);
    text = NULL;
    length = 0;
}

static bool take_text(int fd)
{
    struct stat status;

    if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > UINT32_MAX)
        return false;
    text = malloc((size_t)status.st_size);
    length = text ? (size_t)status.st_size : 0;
    for (size_t got = 0; got < length;) {
        ssize_t n = pread(fd, text + got, length - got, (off_t)got);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return text != NULL;
}

static void serve_graph_dot_draw(struct serve *serve, CUgraph graph, uint32_t flags)
{
    SCOPED_FD int fd = memfd_create("graph", MFD_CLOEXEC);
    char path[32];

    serve_graph_dot_forget();
    if (fd < 0) {
        serve_fail(serve, CUDA_ERROR_OPERATING_SYSTEM);
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    serve_fail(serve, driver.cuGraphDebugDotPrint(graph, path, flags));
    if (!serve_failed(serve) && !take_text(fd))
        serve_fail(serve, CUDA_ERROR_OPERATING_SYSTEM);
}

void serve_graph_dot(struct serve *serve, const struct args_graph_dot *args,
                     struct reply_graph_dot *reply, CUgraph graph)
{
    if (!args->first)
        serve_graph_dot_draw(serve, graph, args->flags);
    if (args->first > length)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (serve_failed(serve))
        return;
    size_t room = serve_reply_room(serve, args->reply_room), left = length - args->first;
    size_t size = left < room ? left : room;
    reply->total = (uint32_t)length;
    serve_reply_bytes(serve, text + args->first, size);
    if (args->first + size == length)
        serve_graph_dot_forget();
}

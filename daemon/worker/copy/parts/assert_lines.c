// SPDX-License-Identifier: BSD-3-Clause
// The driver writes a line for each thread whose assertion fails to standard error, which is the
// worker's log. It becomes a pipe of ours when the first code is loaded. From there these lines go
// to the client's standard error, and all others to the log.
#include "daemon/worker/copy/parts/assert_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/copy/parts/output_pipe.h"
#include "daemon/worker/core/events.h"

enum { TEXT_BYTES = 16 * 1024 };

static int pipe_end = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_assertion(const char *line, size_t size)
{
    static const char block[] = ": block: [", assertion[] = "Assertion `";
    return memmem(line, size, block, sizeof(block) - 1) &&
           memmem(line, size, assertion, sizeof(assertion) - 1);
}

static void assert_lines_route(const char *line, size_t size)
{
    if (is_assertion(line, size)) {
        event_send_error_text(line, (uint32_t)size);
    } else {
        ssize_t ignored = write(log_get_fd(), line, size);
        (void)ignored;
    }
}

// Routes whole lines, and what is longer than a line can be. Returns the bytes that are left.
static size_t route_lines(char *text, size_t used)
{
    size_t first = 0;
    for (const char *end; (end = memchr(text + first, '\n', used - first)) != NULL;) {
        size_t next = (size_t)(end - text) + 1;
        assert_lines_route(text + first, next - first);
        first = next;
    }
    if (!first && used == TEXT_BYTES) {
        assert_lines_route(text, used);
        return 0;
    }
    memmove(text, text + first, used - first);
    return used - first;
}

void assert_lines_deliver(void)
{
    static char text[TEXT_BYTES];
    static size_t used;
    ssize_t n;

    SCOPED_LOCK(&lock);
    while (pipe_end >= 0 && (n = read(pipe_end, text + used, sizeof(text) - used)) > 0)
        used = route_lines(text, used + (size_t)n);
}

// Leaves standard error as it is if anything fails.
static void assert_lines_capture(void)
{
    int ends[2] = {-1, -1}, log_end = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int err = log_end < 0 ? -errno : output_pipe_open(ends);

    pipe_end = ends[0];
    if (!err)
        err = output_pipe_drain(pipe_end, assert_lines_deliver);
    if (err) {
        log_warn("lines of failing assertions stay in the log error=\"%s\"", strerror(-err));
        if (log_end >= 0)
            close(log_end);
    } else {
        log_set_fd(log_end);
        dup2(ends[1], STDERR_FILENO);
    }
    if (ends[1] >= 0)
        close(ends[1]);
}

void assert_lines_begin(void)
{
    pthread_once(&once, assert_lines_capture);
}

// SPDX-License-Identifier: BSD-3-Clause
// See suspender.h. What the process says is read when it has ended: two lines, which a pipe has room for.
#include "daemon/suspender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/program_path.h"
#include "common/scope.h"
#include "common/spawn.h"

enum { OTHER_ARGUMENTS = 4, ANSWER_MAX = 16384 };

struct suspender {
    TAILQ_ENTRY(suspender) link;
    pid_t pid;
    int output;
    struct event *limit;
    int64_t limit_ms;
    bool late; // it was killed for that
    suspender_ended *ended;
    void *argument;
};

static TAILQ_HEAD(suspender_list, suspender) all = TAILQ_HEAD_INITIALIZER(all);

static int spawn(struct box *box, char **arguments, int output, pid_t *pid)
{
    static const char *const programs[] = {"rgpu-suspender", "../libexec/rgpu/rgpu-suspender",
                                           NULL};
    char program[4096];
    const int fds[] = {-1, output, STDERR_FILENO, -1, [CONTROL_WORKER_DRIVER_FD] = box->driver_fd};
    const struct spawn_request request = {.program = program,
                                          .arguments = arguments,
                                          .environment = box->worker_environment,
                                          .fds = fds,
                                          .fd_count = sizeof(fds) / sizeof(fds[0]),
                                          .own_process_group = true};

    program_path_find(programs, program, sizeof(program));
    return spawn_program(&request, pid);
}

static char **make_arguments(struct box *box, const char *what, const char *detail,
                             char *const *workers, size_t count)
{
    char **arguments = calloc(OTHER_ARGUMENTS + count + 1, sizeof(*arguments));

    if (!arguments)
        return NULL;
    arguments[0] = "rgpu-suspender";
    arguments[1] = (char *)what;
    arguments[2] = (char *)detail;
    arguments[3] = box->driver_path;
    memcpy(arguments + OTHER_ARGUMENTS, workers, count * sizeof(*arguments));
    return arguments;
}

// It is reaped like others.
static void is_late(evutil_socket_t fd, short events, void *argument)
{
    struct suspender *suspender = argument;

    suspender->late = true;
    kill(suspender->pid, SIGKILL);
}

static int set_limit(struct box *box, struct suspender *suspender, int64_t limit_ms)
{
    const struct timeval delay = {.tv_sec = (time_t)(limit_ms / 1000),
                                  .tv_usec = (suseconds_t)(limit_ms % 1000) * 1000};

    suspender->limit_ms = limit_ms;
    suspender->limit = evtimer_new(box->base, is_late, suspender);
    return suspender->limit && !evtimer_add(suspender->limit, &delay) ? 0 : -ENOMEM;
}

int suspender_start(struct box *box, const char *what, const char *detail, char *const *workers,
                    size_t count, int64_t limit_ms, suspender_ended *ended, void *argument,
                    struct suspender **out)
{
    SCOPED_FREE char **arguments = make_arguments(box, what, detail, workers, count);
    struct suspender *suspender = calloc(1, sizeof(*suspender));
    int ends[2] = {-1, -1};
    int err = !arguments || !suspender ? -ENOMEM : pipe2(ends, O_CLOEXEC | O_NONBLOCK) ? -errno : 0;

    if (!err)
        err = set_limit(box, suspender, limit_ms);
    if (!err)
        err = spawn(box, arguments, ends[1], &suspender->pid);
    if (ends[1] >= 0)
        close(ends[1]);
    if (err) {
        if (ends[0] >= 0)
            close(ends[0]);
        if (suspender && suspender->limit)
            event_free(suspender->limit);
        free(suspender);
        return err;
    }
    suspender->output = ends[0];
    suspender->ended = ended;
    suspender->argument = argument;
    TAILQ_INSERT_TAIL(&all, suspender, link);
    *out = suspender;
    return 0;
}

static void release(struct suspender *suspender)
{
    TAILQ_REMOVE(&all, suspender, link);
    close(suspender->output);
    event_free(suspender->limit);
    free(suspender);
}

// A process that ended otherwise leaves it open how far it came.
static void tell(struct suspender *suspender, int status)
{
    static const char moved[] = "moved ";
    char text[ANSWER_MAX] = "", how[128];
    ssize_t n = read(suspender->output, text, sizeof(text) - 1);
    char *rest = text, *line = strsep(&rest, "\n"), *second = strsep(&rest, "\n");
    char *reason = strchr(line, ' ');

    if (n > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= SUSPENDER_LOST) {
        bool some = second && !strncmp(second, moved, strlen(moved));
        suspender->ended(suspender->argument, (enum suspender_outcome)WEXITSTATUS(status),
                         reason ? reason + 1 : "", some ? second + strlen(moved) : "");
        return;
    }
    spawn_describe_status(status, how, sizeof(how));
    if (suspender->late)
        snprintf(text, sizeof(text),
                 "the driver has not answered for %lld s: it hangs, or a worker is stopped",
                 (long long)suspender->limit_ms / 1000);
    else
        snprintf(text, sizeof(text), "rgpu-suspender %s", how);
    suspender->ended(suspender->argument, SUSPENDER_UNKNOWN, text, "");
}

void suspender_reap_all(struct box *box)
{
    struct suspender *suspender, *next;

    for (suspender = TAILQ_FIRST(&all); suspender; suspender = next) {
        int status;
        next = TAILQ_NEXT(suspender, link);
        if (waitpid(suspender->pid, &status, WNOHANG) != suspender->pid)
            continue;
        tell(suspender, status);
        release(suspender);
    }
    box_changed(box);
}

void suspender_abandon(struct suspender **pointer)
{
    if (!*pointer)
        return;
    kill((*pointer)->pid, SIGKILL);
    waitpid((*pointer)->pid, NULL, 0);
    release(*pointer);
    *pointer = NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
// The output is read after the process has ended. It has two lines and fits in a pipe.
#include "daemon/rgpud/suspension/suspender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"

enum { ANSWER_MAX = 16384 };

struct suspender {
    struct box *box;
    uint64_t number; // of the process
    enum spawner_act act;
    int output;
    struct event *limit;
    int64_t limit_ms;
    bool late; // it was killed because of the limit
    suspender_ended *ended;
    void *argument;
};

// Kills a process that has reached its limit. Its end is handled as usual.
static void is_late(evutil_socket_t fd, short events, void *argument)
{
    struct suspender *suspender = argument;

    suspender->late = true;
    spawner_end(suspender->box, suspender->number);
}

static int set_limit(struct box *box, struct suspender *suspender, int64_t limit_ms)
{
    const struct timeval delay = {.tv_sec = (time_t)(limit_ms / 1000),
                                  .tv_usec = (suseconds_t)(limit_ms % 1000) * 1000};

    suspender->limit_ms = limit_ms;
    suspender->limit = evtimer_new(box->base, is_late, suspender);
    return suspender->limit && !evtimer_add(suspender->limit, &delay) ? 0 : -ENOMEM;
}

static void suspender_release(struct suspender *suspender)
{
    if (suspender->output >= 0)
        close(suspender->output);
    if (suspender->limit)
        event_free(suspender->limit);
    free(suspender);
}

// Reports the result. If the process did not exit normally, the result is unknown.
static void suspender_report(struct suspender *suspender, int status)
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

// Reports that the process did not start. It has changed nothing then.
static void report_failure(struct suspender *suspender, int err)
{
    char text[128];

    snprintf(text, sizeof(text), "rgpu-suspender cannot be started: %s", strerror(-err));
    suspender->ended(suspender->argument,
                     suspender->act == SPAWNER_SETTLE ? SUSPENDER_UNKNOWN : SUSPENDER_LATER, text,
                     "");
}

static void suspender_has_ended(void *argument, int err, int status)
{
    struct suspender *suspender = argument;

    if (err)
        report_failure(suspender, err);
    else
        suspender_report(suspender, status);
    box_changed(suspender->box);
    suspender_release(suspender);
}

int suspender_start(struct box *box, enum spawner_act act, unsigned timeout_ms, int64_t limit_ms,
                    suspender_ended *ended, void *argument, struct suspender **out)
{
    struct suspender *suspender = calloc(1, sizeof(*suspender));
    int ends[2] = {-1, -1};

    if (!suspender)
        return -ENOMEM;
    *suspender = (struct suspender){
        .box = box, .act = act, .output = -1, .ended = ended, .argument = argument};
    int err = pipe2(ends, O_CLOEXEC | O_NONBLOCK) ? -errno : 0;
    suspender->output = ends[0];
    if (!err)
        err = set_limit(box, suspender, limit_ms);
    if (!err) {
        struct spawner_order order = {.kind = SPAWNER_SUSPENDER,
                                      .act = act,
                                      .timeout_ms = timeout_ms};
        const int fds[SPAWNER_SUSPENDER_FDS] = {ends[1], box->driver_fd};
        const struct spawner_owner owner = {.ended = suspender_has_ended, .argument = suspender};
        err = spawner_start(box, &order, fds, SPAWNER_SUSPENDER_FDS, &owner, &suspender->number);
    }
    if (ends[1] >= 0)
        close(ends[1]);
    if (err) {
        suspender_release(suspender);
        return err;
    }
    *out = suspender;
    return 0;
}

void suspender_abandon(struct suspender **pointer)
{
    struct suspender *suspender = *pointer;

    if (!suspender)
        return;
    spawner_end(suspender->box, suspender->number);
    spawner_forget(suspender->box, suspender->number);
    suspender_release(suspender);
    *pointer = NULL;
}

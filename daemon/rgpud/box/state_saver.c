// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/state_saver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/service/helper.h"
#include "daemon/rgpud/box/state_file.h"

enum { SAVES_MAX = 64 }; // waiting writes; each file has at most one

struct state_saver {
    char *directory;
    state_saver_done *done;
    void *argument;
    bool closing;
};

struct save_job {
    struct helper_job job;
    struct state_saver *saver;
    const char *name, *point;
    char *text;
    size_t size;
    uint64_t number;
    int err;
};

// One thread writes for all savers of the process.
static struct {
    struct helper *helper;
    struct event *written_event;
    unsigned users;
} writer;

static void state_saver_job_free(struct save_job *job)
{
    free(job->text);
    free(job);
}

static void write_job(struct helper_job *waiting)
{
    struct save_job *job = (struct save_job *)waiting;

    job->err =
        state_file_replace(job->saver->directory, job->name, job->text, job->size, job->point);
}

static void report_written(struct helper_job *written)
{
    struct save_job *job = (struct save_job *)written;

    if (!job->saver->closing)
        job->saver->done(job->saver->argument, job->number, job->err);
    state_saver_job_free(job);
}

static bool is_same_file(const struct helper_job *waiting, const void *argument)
{
    const struct save_job *job = (const struct save_job *)waiting, *other = argument;

    return job->saver == other->saver && !strcmp(job->name, other->name);
}

int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number)
{
    struct save_job *job = malloc(sizeof(*job));

    if (!job) {
        free(text);
        return -ENOMEM;
    }
    *job = (struct save_job){.job = {.run = write_job, .done = report_written},
                             .saver = saver,
                             .name = name,
                             .point = point,
                             .text = text,
                             .size = size,
                             .number = number};
    struct helper_job *older = helper_withdraw(writer.helper, is_same_file, job);
    if (older)
        state_saver_job_free((struct save_job *)older);
    int err = helper_submit(writer.helper, &job->job);
    if (err)
        state_saver_job_free(job);
    return err;
}

// ---- opening and closing ----

static void state_saver_finish(evutil_socket_t fd, short events, void *argument)
{
    helper_finish(writer.helper);
}

static void leave_writer(void)
{
    if (--writer.users)
        return;
    if (writer.written_event)
        event_free(writer.written_event);
    writer.written_event = NULL;
    helper_free(&writer.helper);
}

static int join_writer(struct event_base *base)
{
    if (writer.users++)
        return 0;
    writer.helper = helper_new(1, SAVES_MAX);
    if (writer.helper)
        writer.written_event = event_new(base, helper_descriptor(writer.helper),
                                         EV_READ | EV_PERSIST, state_saver_finish, NULL);
    if (writer.written_event && event_add(writer.written_event, NULL) == 0)
        return 0;
    leave_writer();
    return -ENOMEM;
}

struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *done, void *argument)
{
    struct state_saver *saver = calloc(1, sizeof(*saver));

    if (!saver)
        return NULL;
    *saver =
        (struct state_saver){.done = done, .argument = argument, .directory = strdup(directory)};
    if (saver->directory && join_writer(base) == 0)
        return saver;
    free(saver->directory);
    free(saver);
    return NULL;
}

void state_saver_close(struct state_saver **pointer)
{
    struct state_saver *saver = *pointer;

    if (!saver)
        return;
    *pointer = NULL;
    saver->closing = true;
    helper_drain(writer.helper);
    leave_writer();
    free(saver->directory);
    free(saver);
}

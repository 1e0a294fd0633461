// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/box_disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/rgpud/box/state_saver.h"
#include "daemon/rgpud/broker/broker_history.h"
#include "daemon/rgpud/broker/revocations.h"
#include "tests/simulation/exhaustive.h"

static char directory[64];

void box_disk_open(void)
{
    const char *parent = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

    snprintf(directory, sizeof(directory), "%s/rgpu-simulation.XXXXXX", parent);
    if (!mkdtemp(directory))
        abort();
}

static void put_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    unlink(path);
    if (!text)
        return;
    file = fopen(path, "w");
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

void box_disk_close(void)
{
    put_file("revoked", NULL);
    put_file("history", NULL);
    rmdir(directory);
}

char *box_disk_directory(const struct simulated_box *box)
{
    (void)box;
    return directory;
}

void box_disk_lay_out(const struct simulated_box *box)
{
    put_file("revoked", box->saved_revoked);
    put_file("history", box->saved_history);
}

static struct simulated_box *running_box(void)
{
    for (unsigned i = 0; i < box_count; i++)
        if (world_host == &boxes[i].host)
            return &boxes[i];
    return NULL;
}

// ---- what the agent has read, for the oracle ----

int __real_history_open(const char *path, struct history **out);
int __wrap_history_open(const char *path, struct history **out);
int __wrap_history_open(const char *path, struct history **out)
{
    int err = __real_history_open(path, out);

    running_box()->history = err ? NULL : *out;
    return err;
}

int __real_revocations_open(const char *path, int64_t latest, struct revocations **out);
int __wrap_revocations_open(const char *path, int64_t latest, struct revocations **out);
int __wrap_revocations_open(const char *path, int64_t latest, struct revocations **out)
{
    int err = __real_revocations_open(path, latest, out);

    running_box()->revocations = err ? NULL : *out;
    return err;
}

bool box_disk_accepts(const struct simulated_box *box, const struct session_grant *grant)
{
    return !revocations_has(box->revocations, grant->lease) &&
           history_accepts(box->history, grant->lease, grant->epoch);
}

int64_t box_disk_epoch(const struct simulated_box *box)
{
    int64_t epoch = 0, event;
    const char *run;

    if (box->box)
        history_point(box->history, &epoch, &run, &event);
    return epoch;
}

// ---- daemon/rgpud/box/state_saver.h ----

struct state_saver {
    struct simulated_box *box;
    state_saver_done *done;
    void *argument;
};

struct save {
    struct state_saver *saver;
    char **file;
    char *text;
    uint64_t number;
};

struct state_saver *state_saver_open(struct event_base *base, const char *path,
                                     state_saver_done *done, void *argument)
{
    struct state_saver *saver = calloc(1, sizeof(*saver));

    (void)base;
    (void)path;
    if (!saver)
        return NULL;
    saver->box = running_box();
    saver->done = done;
    saver->argument = argument;
    return saver;
}

static void on_saved(void *argument)
{
    struct save *save = argument;
    int err = exhaustive_file_fails() ? -EIO : 0;

    free(err ? save->text : *save->file);
    if (!err)
        *save->file = save->text;
    save->saver->done(save->saver->argument, save->number, err);
    free(save);
}

// One thread writes, so writes are done in their order.
int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number)
{
    struct simulated_box *box = saver->box;
    struct save *save = malloc(sizeof(*save));

    (void)point;
    (void)size;
    if (!save)
        abort();
    *save =
        (struct save){.saver = saver,
                      .file = strcmp(name, "revoked") ? &box->saved_history : &box->saved_revoked,
                      .text = text,
                      .number = number};
    if (box->disk_free_at < world_now)
        box->disk_free_at = world_now;
    box->disk_free_at += dice_between(&box->dice, MS / 10, 20 * MS);
    world_after(&box->host, box->disk_free_at - world_now, on_saved, save);
    return 0;
}

void state_saver_close(struct state_saver **saver)
{
    free(*saver);
    *saver = NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/broker/broker_history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum { LEASE_MAX = 128 };

// A lease whose tickets are valid from epoch SINCE on, though the present one is later.
struct listed {
    char name[LEASE_MAX];
    int64_t since;
};

struct history {
    char *directory;
    int64_t epoch; // 0: none yet
    char run[33];
    int64_t event;
    struct listed *leases;
    size_t lease_count;
};

static int add_lease(struct history *history, const char *lease, int64_t since)
{
    void *longer;

    if (strlen(lease) >= LEASE_MAX)
        return -EINVAL;
    longer = realloc(history->leases, (history->lease_count + 1) * sizeof(history->leases[0]));
    if (!longer)
        return -ENOMEM;
    history->leases = longer;
    strcpy(history->leases[history->lease_count].name, lease);
    history->leases[history->lease_count++].since = since;
    return 0;
}

static int read_file(struct history *history, FILE *file)
{
    char lease[LEASE_MAX];
    int err = 0;

    if (fscanf(file, "epoch %" SCNd64 "\nseen %32s %" SCNd64 "\n", &history->epoch, history->run,
               &history->event) != 3)
        return -EBADMSG;
    while (!err && fscanf(file, "lease %127s\n", lease) == 1)
        err = add_lease(history, lease, 0);
    return err ? err : feof(file) ? 0 : -EBADMSG;
}

static int broker_history_load(struct history *history)
{
    char *path;
    FILE *file;
    int err;

    if (asprintf(&path, "%s/history", history->directory) < 0)
        return -ENOMEM;
    file = fopen(path, "re");
    err = file ? read_file(history, file) : errno == ENOENT ? 0 : -errno;
    if (file)
        fclose(file);
    if (err)
        log_error("cannot read what is known of the broker path=%s error=\"%s\"", path,
                  strerror(-err));
    free(path);
    return err;
}

int history_open(const char *directory, struct history **out)
{
    struct history *history = calloc(1, sizeof(*history));
    int err;

    if (!history)
        return -ENOMEM;
    history->directory = strdup(directory);
    err = history->directory ? broker_history_load(history) : -ENOMEM;
    if (err)
        history_close(&history);
    else
        *out = history;
    return err;
}

void history_close(struct history **pointer)
{
    struct history *history = *pointer;

    if (!history)
        return;
    free(history->directory);
    free(history->leases);
    free(history);
    *pointer = NULL;
}

bool history_point(const struct history *history, int64_t *epoch, const char **run, int64_t *event)
{
    *epoch = history->epoch;
    *run = history->run;
    *event = history->event;
    return *history->run;
}

void history_note(struct history *history, const char *run, int64_t event)
{
    snprintf(history->run, sizeof(history->run), "%s", run);
    history->event = event;
}

static struct listed *history_find(const struct history *history, const char *lease)
{
    for (size_t i = 0; i < history->lease_count; i++)
        if (!strcmp(history->leases[i].name, lease))
            return &history->leases[i];
    return NULL;
}

int history_adopt(struct history *history, int64_t epoch, const struct history_lease *leases,
                  size_t count)
{
    int err = 0;

    if (epoch < history->epoch)
        return -ERANGE;
    history->epoch = epoch;
    history->lease_count = 0;
    for (size_t i = 0; i < count && !err; i++)
        err = add_lease(history, leases[i].name, leases[i].since);
    return err;
}

int history_accept(struct history *history, const char *lease)
{
    struct listed *listed = history_find(history, lease);

    if (!listed)
        return add_lease(history, lease, 0);
    listed->since = 0;
    return 0;
}

int history_print(const struct history *history, char **text, size_t *size)
{
    FILE *out;

    if (!*history->run)
        return -ENOENT;
    out = open_memstream(text, size);
    if (!out)
        return -ENOMEM;
    fprintf(out, "epoch %" PRId64 "\nseen %s %" PRId64 "\n", history->epoch, history->run,
            history->event);
    for (size_t i = 0; i < history->lease_count; i++)
        fprintf(out, "lease %s\n", history->leases[i].name);
    if (!fclose(out))
        return 0;
    free(*text);
    return -ENOMEM;
}

bool history_accepts(const struct history *history, const char *lease, int64_t epoch)
{
    const struct listed *listed = history_find(history, lease);

    return epoch >= history->epoch || (listed && epoch >= listed->since);
}

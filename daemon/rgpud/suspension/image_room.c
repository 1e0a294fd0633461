// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/image_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "common/base/scope.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/workers/worker_process.h"

// Returns the number that FORMAT reads from a line of a file. PATH is relative to DIRECTORY.
// Returns 0 if no line matches.
static uint64_t image_room_read_figure(int directory, const char *path, const char *format)
{
    char line[128];
    unsigned long long figure = 0;
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    SCOPED_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, format, &figure) == 1)
            break;
    return figure;
}

static uint64_t machine_memory(const char *row)
{
    char format[64];

    snprintf(format, sizeof(format), "%s: %%llu kB", row);
    return image_room_read_figure(AT_FDCWD, "/proc/meminfo", format) << 10;
}

static uint64_t process_figure(const struct worker_process *worker, const char *file,
                               const char *format)
{
    return worker->proc_fd < 0 ? 0 : image_room_read_figure(worker->proc_fd, file, format);
}

static uint64_t image_bytes(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    uint64_t bytes = figures_session_bytes(worker), account = worker->session.stats.memory;

    for (uint32_t i = 0; i < grant->device_count; i++)
        account += grant->devices[i]->info.context_cost;
    return bytes > account ? bytes : account;
}

static uint64_t image_bytes_of_all(const struct suspension *s)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += image_bytes(list[i]);
    return bytes;
}

// Checks that the image fits in the memory limit of the worker's process.
static int fit_worker(const struct worker_process *worker, char *text, size_t room)
{
    uint64_t limit = process_figure(worker, "limits", "Max data size %llu");
    uint64_t used = process_figure(worker, "status", "VmData: %llu kB") << 10;
    uint64_t bytes = image_bytes(worker);

    if (!limit || used + bytes <= limit)
        return 0;
    snprintf(text, room,
             "its memory, %llu MiB, does not fit: worker_memory allows a worker %llu MiB, of which "
             "%llu MiB are taken",
             (unsigned long long)bytes >> 20, (unsigned long long)limit >> 20,
             (unsigned long long)used >> 20);
    return -ENOSPC;
}

static int fit_workers(const struct suspension *s, char *text, size_t room)
{
    struct worker_process *list[SUSPENSION_MEMBERS_MAX];
    size_t count = suspension_members(s, list);
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        err = fit_worker(list[i], text, room);
    return err;
}

int image_room_take(struct suspension *s, char *text, size_t room)
{
    const struct box *box = s->box;
    uint64_t limit = box->settings.suspend_memory, bytes = image_bytes_of_all(s);

    s->bytes = 0;
    uint64_t held = suspension_bytes(box);
    uint64_t available = machine_memory("MemAvailable");

    if (!limit)
        limit = machine_memory("MemTotal") / 2;
    if (held + bytes > limit) {
        snprintf(
            text, room,
            "its memory, %llu MiB, does not fit: suspend_memory allows images of %llu MiB on this box, "
            "of which %llu MiB are taken",
            (unsigned long long)bytes >> 20, (unsigned long long)limit >> 20,
            (unsigned long long)held >> 20);
        return -ENOSPC;
    }
    if (available && bytes > available) {
        snprintf(text, room,
                 "its memory, %llu MiB, does not fit: the box has %llu MiB of memory left",
                 (unsigned long long)bytes >> 20, (unsigned long long)available >> 20);
        return -ENOSPC;
    }
    if (fit_workers(s, text, room))
        return -ENOSPC;
    s->bytes = bytes;
    return 0;
}

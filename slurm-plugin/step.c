// SPDX-License-Identifier: GPL-2.0-or-later
// A step's tickets on one node.
#include "slurm-plugin/step.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/security/ticket.h"
#include "slurm-plugin/base/job_lease.h"

_Static_assert(LEASE_UUIDS_MAX >= STEP_GPUS_MAX, "all GPUs that a step may have can be named");

enum { CALL_TIMEOUT_MS = 10000 };

static const char *directory_of(const struct step *step)
{
    return step->settings.ticket_dir ? step->settings.ticket_dir : "/run/rgpu-slurm";
}

// Users may traverse it to reach their own tickets; only its owner may write in it.
static int step_make_directory(const char *path)
{
    struct stat status;

    if (mkdir(path, 0711) < 0 && errno != EEXIST)
        return -errno;
    if (lstat(path, &status) < 0)
        return -errno;
    return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022)
               ? 0
               : -EPERM;
}

// ---- choosing GPUs ----

// The holder removes the lock's file when it releases the lock, so a lock on a removed file is
// invalid, and the file is opened again.
static int try_lock(const char *path)
{
    struct stat status;
    int fd;

    for (;;) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            close(fd);
            return -EWOULDBLOCK;
        }
        if (fstat(fd, &status) == 0 && status.st_nlink > 0)
            return fd;
        close(fd);
    }
}

static bool lock_gpu(struct step *step, uint32_t job, uint32_t gpu)
{
    char *path;
    int fd;

    if (asprintf(&path, "%s/%" PRIu32 ".gpu.%" PRIu32, directory_of(step), job, gpu) < 0)
        return false;
    fd = try_lock(path);
    if (fd < 0) {
        free(path);
        return false;
    }
    step->locks[step->lock_count] = fd;
    step->lock_paths[step->lock_count++] = path;
    return true;
}

// The node's part of the job's GPUs, of which free ones come first. Returns how many.
static uint32_t choose_gpus(struct step *step, const struct step_place *place, uint32_t total,
                            uint32_t *gpus)
{
    uint32_t per_node = place->nodes ? total / place->nodes : total;
    uint32_t first = place->node * per_node, wanted, count = 0;
    bool taken[STEP_GPUS_MAX] = {false};

    if (per_node > STEP_GPUS_MAX)
        per_node = STEP_GPUS_MAX;
    if (first + per_node > total)
        first = 0;
    wanted = place->count < per_node ? place->count : per_node;
    for (uint32_t i = 0; place->divides && i < per_node && count < wanted; i++)
        if (lock_gpu(step, place->job, first + i)) {
            taken[i] = true;
            gpus[count++] = first + i;
        }
    for (uint32_t i = 0; i < per_node && count < wanted; i++)
        if (!taken[i])
            gpus[count++] = first + i;
    return count;
}

// ---- ticket files ----

static int step_write_all(int fd, const char *text)
{
    size_t size = strlen(text);

    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            text += n, size -= (size_t)n;
    }
    return 0;
}

static int write_ticket(struct step *step, const struct step_place *place, const char *name,
                        const char *bundle, struct step_ticket *ticket)
{
    char *path;
    int fd, error = 0;

    if (asprintf(&path, "%s/%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".ticket.%s", directory_of(step),
                 place->job, place->step, place->step_node, name) < 0)
        return -ENOMEM;
    unlink(path); // of a step that was killed with its slurmstepd
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error = -errno;
        free(path);
        return error;
    }
    *ticket = (struct step_ticket){path, fd};
    // A process that removes old tickets may hold the lock for a moment.
    if (flock(fd, LOCK_EX) < 0)
        error = -errno;
    if (!error)
        error = step_write_all(fd, bundle);
    if (!error && fchown(fd, place->uid, place->gid) < 0)
        error = -errno;
    return error;
}

static void remove_ticket(struct step_ticket *ticket)
{
    if (!ticket->path)
        return;
    unlink(ticket->path);
    close(ticket->lock);
    free(ticket->path);
}

// Removes an entry without a lock: its slurmstepd was killed. A new entry is not locked for a
// moment, and has no content then.
static void sweep_entry(int directory, const char *name)
{
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size > 0)
        unlinkat(directory, name, 0);
    close(fd);
}

static void sweep(const struct step *step)
{
    DIR *directory = opendir(directory_of(step));
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (strstr(entry->d_name, ".ticket."))
            sweep_entry(dirfd(directory), entry->d_name);
    if (directory)
        closedir(directory);
}

static void note_places(struct step *step, const char *text)
{
    struct ticket_bundle bundle;

    if (ticket_bundle_parse(text, strlen(text), &bundle))
        return;
    if (!endpoint_boxes_share_memory(bundle.count, bundle.entries[0].addresses, NULL))
        step->gpus_apart = true;
    ticket_bundle_free(&bundle);
}

static int fetch_ticket(struct step *step, const struct step_place *place,
                        struct broker_client *client, const struct step_lease *lease,
                        const uint32_t *gpus, uint32_t count, const char *name,
                        struct step_ticket *ticket)
{
    char *bundle;
    int error = lease_ticket(client, lease, gpus, count, &bundle);

    if (error)
        return error;
    note_places(step, bundle);
    error = write_ticket(step, place, name, bundle, ticket);
    explicit_bzero(bundle, strlen(bundle));
    free(bundle);
    return error ? broker_client_explain(client, error, "the ticket cannot be written in %s: %s",
                                         directory_of(step), strerror(-error))
                 : 0;
}

static int add_ticket(struct step *step, const struct step_place *place,
                      struct broker_client *client, const struct step_lease *lease,
                      const uint32_t *gpus, uint32_t count)
{
    char name[16];

    snprintf(name, sizeof(name), "%u", step->ticket_count);
    return fetch_ticket(step, place, client, lease, gpus, count, name,
                        &step->tickets[step->ticket_count++]);
}

// For all GPUs of the job, in the lease's order, beside tickets for SEEN of them: what teams and
// NCCL's ranks reach of each other. Programs see none of the others by it.
static int add_ticket_of_job(struct step *step, const struct step_place *place,
                             struct broker_client *client, const struct step_lease *lease,
                             uint32_t seen)
{
    uint32_t gpus[STEP_GPUS_MAX];

    if (!seen || seen >= lease->gpus || lease->gpus > STEP_GPUS_MAX)
        return 0;
    for (uint32_t i = 0; i < lease->gpus; i++)
        gpus[i] = i;
    return fetch_ticket(step, place, client, lease, gpus, lease->gpus, "job", &step->of_job);
}

static bool includes(const uint32_t *gpus, uint32_t count, uint32_t gpu)
{
    for (uint32_t i = 0; i < count; i++)
        if (gpus[i] == gpu)
            return true;
    return false;
}

// A ticket for all GPUs of the job. It has them in the lease's order, the same on all nodes;
// `order` has this node's first, as programs take the one that their local rank says.
static int add_whole_ticket(struct step *step, const struct step_place *place,
                            struct broker_client *client, const struct step_lease *lease,
                            uint32_t *gpus, uint32_t count)
{
    size_t size = 0;
    FILE *order;

    if (lease->gpus > STEP_GPUS_MAX)
        return broker_client_explain(client, -E2BIG,
                                     "--rgpu-all is for jobs of at most %d GPUs, this has %u",
                                     STEP_GPUS_MAX, lease->gpus);
    for (uint32_t i = 0, own = count; i < lease->gpus; i++)
        if (!includes(gpus, own, i))
            gpus[count++] = i;
    order = open_memstream(&step->order, &size);
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        fprintf(order, "%s%s", i ? "," : "", lease->uuids[gpus[i]]);
    if (fclose(order))
        return -ENOMEM;
    return add_ticket(step, place, client, lease, gpus, count);
}

static int get_tickets(struct step *step, const struct step_place *place,
                       struct broker_client *client)
{
    struct step_lease lease;
    uint32_t gpus[STEP_GPUS_MAX], count;
    int error = lease_find(client, &step->settings, place->job, &lease);

    if (error)
        return error;
    count = step->gpus = choose_gpus(step, place, lease.gpus, gpus);
    if (place->all)
        return add_whole_ticket(step, place, client, &lease, gpus, count);
    bool each = step->settings.ranks != RANKS_ALL && place->divides;
    for (uint32_t i = 0; each && !error && i < count; i++)
        error = add_ticket(step, place, client, &lease, &gpus[i], 1);
    if (!each)
        error = add_ticket(step, place, client, &lease, gpus, count);
    return error ? error
                 : add_ticket_of_job(step, place, client, &lease, each && count ? 1 : count);
}

int step_begin(const struct step_place *place, struct step *step, char *why, size_t size)
{
    struct broker_client *client = NULL;
    int error;

    memset(step, 0, sizeof(*step));
    error = slurm_settings_load(&step->settings);
    if (!error)
        error = slurm_settings_identify(&step->settings, place->cluster, NULL, 0);
    if (error) {
        snprintf(why, size, "the settings of rgpu on this node cannot be read");
        return error;
    }
    error = step_make_directory(directory_of(step));
    if (error) {
        snprintf(why, size, "%s is not a directory of root's that nobody else can write in",
                 directory_of(step));
        return error;
    }
    sweep(step);
    error = slurm_settings_open(&step->settings, CALL_TIMEOUT_MS, &client);
    if (!error)
        error = get_tickets(step, place, client);
    if (error)
        snprintf(why, size, "%s", client ? broker_client_error(client) : strerror(-error));
    broker_client_close(&client);
    return error;
}

void step_end(struct step *step)
{
    for (unsigned i = 0; i < step->ticket_count; i++)
        remove_ticket(&step->tickets[i]);
    remove_ticket(&step->of_job);
    for (unsigned i = 0; i < step->lock_count; i++) {
        unlink(step->lock_paths[i]);
        close(step->locks[i]);
        free(step->lock_paths[i]);
    }
    free(step->order);
    slurm_settings_clear(&step->settings);
    memset(step, 0, sizeof(*step));
}

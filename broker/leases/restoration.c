// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/restoration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/leases/history.h"
#include "broker/pool/holder.h"
#include "broker/store/store.h"
#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/base/scope.h"

// Paths in the broker's directory.
struct restoration {
    const char *directory, *copy;
    char database[4096], fresh[4096], replaced[4096];
    struct stat owner; // of the directory
    int64_t epoch, event;
};

static int restoration_complain(const char *path)
{
    int error = errno ? -errno : -EIO;

    log_error("%s: %s", path, strerror(-error));
    return error;
}

// Names a file beside a database, such as its log.
static void beside(const char *database, const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s%s", database, suffix);
}

static int remove_beside(const char *database, const char *suffix)
{
    char path[4200];

    beside(database, suffix, path, sizeof(path));
    return unlink(path) < 0 && errno != ENOENT ? restoration_complain(path) : 0;
}

// ---- the new database ----

static enum outcome write_epoch(struct restoration *self, struct store *store)
{
    char actor[64];
    json_t *detail = json_pack("{s:s, s:I}", "copy", self->copy, "epoch", (json_int_t)self->epoch);
    const struct store_event event = {.kind = HISTORY_RESTORED, .actor = actor, .detail = detail};
    enum outcome error = store_begin(store);

    snprintf(actor, sizeof(actor), "admin uid=%u", (unsigned)getuid());
    if (!error)
        error = store_add_epoch(store, self->epoch, clock_wall_seconds());
    if (!error)
        error = store_add_event(store, clock_wall_seconds(), &event);
    json_decref(detail);
    return error ? error : store_commit(store);
}

// The copy lacks a part of the history. In the new epoch the boxes accept tickets of that part only
// after the broker has adopted their leases.
static int begin_epoch_in(struct restoration *self)
{
    struct store *store = NULL;
    enum outcome error = store_open(self->fresh, true, NULL, &store);

    if (error)
        return -EUCLEAN;
    self->event = store_last_event(store);
    self->epoch = history_next_epoch(store_epoch(store));
    error = write_epoch(self, store);
    if (!error)
        store_await_durable(store);
    store_close(&store);
    return error ? -EIO : 0;
}

static int give_to_owner(const struct restoration *self, const char *path)
{
    if (geteuid() == 0 && chown(path, self->owner.st_uid, self->owner.st_gid) < 0)
        return restoration_complain(path);
    return chmod(path, 0600) < 0 ? restoration_complain(path) : 0;
}

static int make_fresh(struct restoration *self)
{
    int error = remove_beside(self->fresh, "-wal");

    if (!error)
        error = remove_beside(self->fresh, "-shm");
    if (!error)
        error = store_backup(self->copy, self->fresh);
    if (!error)
        error = begin_epoch_in(self);
    if (!error)
        error = give_to_owner(self, self->fresh);
    return error;
}

// ---- in its place ----

static int sync_directory(const char *path)
{
    SCOPED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? restoration_complain(path) : 0;
}

static int keep_beside(const struct restoration *self, const char *suffix)
{
    char from[4200], to[4200];

    beside(self->database, suffix, from, sizeof(from));
    beside(self->replaced, suffix, to, sizeof(to));
    if (unlink(to) < 0 && errno != ENOENT)
        return restoration_complain(to);
    return link(from, to) < 0 && errno != ENOENT ? restoration_complain(to) : 0;
}

// The log beside the database belongs to the one that is replaced. At each step the directory has
// a database that a broker can open.
static int put_in_place(const struct restoration *self)
{
    int error;

    store_fold(self->database);
    error = keep_beside(self, "");
    if (!error)
        error = keep_beside(self, "-wal");
    if (!error)
        error = remove_beside(self->database, "-wal");
    if (!error)
        error = remove_beside(self->database, "-shm");
    if (!error)
        error = fault_point("restore.before_rename");
    if (!error && rename(self->fresh, self->database) < 0)
        error = restoration_complain(self->database);
    return error ? error : sync_directory(self->directory);
}

static void ignore_state(const char *state)
{
    (void)state;
}

static int restoration_begin(struct restoration *self, struct holder *holder)
{
    int error;

    if (stat(self->directory, &self->owner) < 0)
        return restoration_complain(self->directory);
    error = holder_take(self->directory, false, ignore_state, holder);
    if (error == -EBUSY)
        log_error("nothing is restored: stop the broker first (systemctl stop rgpu-brokerd)");
    if (!error)
        error = give_to_owner(self, holder->path);
    return error;
}

int restoration_run(const char *directory, const char *copy)
{
    struct restoration self = {.directory = directory, .copy = copy};
    struct holder holder = {.fd = -1};
    int error = restoration_begin(&self, &holder);

    snprintf(self.database, sizeof(self.database), "%s/pool.sqlite", directory);
    snprintf(self.fresh, sizeof(self.fresh), "%s/restored.sqlite", directory);
    snprintf(self.replaced, sizeof(self.replaced), "%s/replaced.sqlite", directory);
    if (!error)
        error = store_check(copy);
    if (!error)
        error = make_fresh(&self);
    if (!error)
        error = put_in_place(&self);
    else
        unlink(self.fresh);
    holder_release(&holder);
    if (error)
        return error;
    printf("%s: checked, and in place as %s, up to event %" PRId64 "; owner %u:%u, mode 0600\n"
           "epoch %" PRId64 " begins: the broker adopts what boxes serve and the copy lacks\n"
           "the database before is kept as %s\n",
           copy, self.database, self.event, (unsigned)self.owner.st_uid,
           (unsigned)self.owner.st_gid, self.epoch, self.replaced);
    return 0;
}

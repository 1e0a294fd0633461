// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"

enum { LOOK_EVERY_MS = 200, EXIT_TAKEN_OVER = 3 };

static int stand_by(struct holder *holder, void (*tell)(const char *state))
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000};

    log_info("another broker has %s: standing by", holder->path);
    printf("rgpu-brokerd stands by\n");
    fflush(stdout);
    tell("READY=1\nSTATUS=standing by");
    holder->took_over = true;
    while (flock(holder->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        tell("WATCHDOG=1");
        nanosleep(&pause, NULL);
    }
    tell("STATUS=in charge");
    return 0;
}

int holder_take(const char *directory, bool wait, void (*tell)(const char *state),
                struct holder *holder)
{
    int error = 0;

    *holder = (struct holder){.fd = -1};
    snprintf(holder->path, sizeof(holder->path), "%s/lock", directory);
    holder->fd = open(holder->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (holder->fd < 0) {
        error = -errno;
        log_error("state_dir=%s: %s", directory, strerror(-error));
        return error;
    }
    if (flock(holder->fd, LOCK_EX | LOCK_NB) < 0)
        error = errno != EWOULDBLOCK ? -errno : wait ? stand_by(holder, tell) : -EBUSY;
    if (error == -EBUSY)
        log_error("state_dir=%s is in use by another broker; standby = yes waits for it",
                  directory);
    else if (error)
        log_error("%s: %s", holder->path, strerror(-error));
    if (error)
        holder_release(holder);
    return error;
}

int holder_sign(struct holder *holder, const char *run)
{
    size_t size = strlen(run);

    snprintf(holder->run, sizeof(holder->run), "%s", run);
    if (pwrite(holder->fd, run, size, 0) != (ssize_t)size || fsync(holder->fd) < 0) {
        log_error("%s: %s", holder->path, strerror(errno));
        return errno ? -errno : -EIO;
    }
    return 0;
}

// Reads the file's present content, or the reason that it cannot be read.
static void read_run(const struct holder *holder, char *run, size_t room)
{
    SCOPED_FD int fd = open(holder->path, O_RDONLY | O_CLOEXEC);
    // If no descriptor is free, it reads through the descriptor that holds the lock, whose file
    // still exists.
    bool scarce = fd < 0 && (errno == EMFILE || errno == ENFILE);
    ssize_t size = fd < 0 && !scarce ? -1 : pread(scarce ? holder->fd : fd, run, room - 1, 0);

    if (size < 0)
        snprintf(run, room, "%s", strerror(errno));
    else
        run[size] = 0;
}

void holder_check(const struct holder *holder)
{
    char run[sizeof(holder->run)];

    if (!holder || !*holder->run)
        return;
    read_run(holder, run, sizeof(run));
    if (!strcmp(run, holder->run))
        return;
    log_error("%s is no longer ours (%s): another broker has taken over, and this one ends",
              holder->path, *run ? run : "empty");
    _exit(EXIT_TAKEN_OVER);
}

void holder_release(struct holder *holder)
{
    if (holder->fd >= 0)
        close(holder->fd);
    holder->fd = -1;
}

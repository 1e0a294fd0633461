// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/rendezvous_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/scope.h"
#include "common/security/sha256.h"
#include "common/security/ticket.h"

static const char first_word[] = "rgpu-team-2 ";

// ---- names ----

// Writes the scope in which a name is unique: the lease, or the job, or the list of boxes.
static void scope_of_names(char *scope, size_t size)
{
    struct ticket_bundle bundle;
    const char *job = secure_getenv("SLURM_JOB_ID"), *boxes = secure_getenv("RGPU_BOXES");
    char lease[TICKET_NAME_MAX];
    bool has_lease = false;
    if (!ticket_bundle_load_of_job(&bundle)) {
        has_lease = bundle.count && !ticket_lease(&bundle.entries[0], lease);
        ticket_bundle_free(&bundle);
    }
    if (has_lease)
        snprintf(scope, size, "lease %s", lease);
    else if (job)
        snprintf(scope, size, "job %s", job);
    else
        snprintf(scope, size, "boxes %s", boxes ? boxes : "");
}

static enum rgpu_result find_path(const char *name, char *path, size_t size)
{
    const char *folder = secure_getenv("RGPU_TEAM_DIR");
    char scope[512], whole[1024], hex[2 * SHA256_SIZE + 1];
    uint8_t digest[SHA256_SIZE];
    scope_of_names(scope, sizeof(scope));
    int length = snprintf(whole, sizeof(whole), "%s\n%s", scope, name);
    if (length >= (int)sizeof(whole))
        return failure(RGPU_ERROR_INVALID, "the name of the team is too long");
    sha256_of(whole, (size_t)length, digest);
    hex_encode(digest, SHA256_SIZE, hex);
    length = snprintf(path, size, "%s/rgpu-team-%u-%.32s", folder && *folder ? folder : "/tmp",
                      (unsigned int)getuid(), hex);
    return length < (int)size ? RGPU_SUCCESS
                              : failure(RGPU_ERROR_INVALID, "RGPU_TEAM_DIR is too long");
}

// ---- the file ----

static int rendezvous_file_check(int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    return S_ISREG(status.st_mode) && status.st_uid == getuid() && !(status.st_mode & 077) ? 0
                                                                                           : -EPERM;
}

// Locks the file. A process holds this lock while it meets others, and loses it at its end.
// -EAGAIN: the file was removed meanwhile, so it is not the rendezvous place.
static int lock_file(const char *path, int fd)
{
    struct stat mine, there;
    int err = rendezvous_file_check(fd);
    if (err)
        return err;
    if (flock(fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (fstat(fd, &mine) || stat(path, &there) || mine.st_ino != there.st_ino)
        return -EAGAIN;
    return 0;
}

static int open_place(const char *path)
{
    for (;;) {
        int fd = descriptor_own(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd < 0)
            return -errno;
        int err = lock_file(path, fd);
        if (!err)
            return fd;
        close(fd);
        if (err != -EAGAIN)
            return err;
    }
}

// -errno.
static int write_id(int fd, const struct rgpu_rendezvous *rendezvous)
{
    char hex[2 * sizeof(rendezvous->bytes) + 1], line[sizeof(hex) + 32];
    hex_encode(rendezvous->bytes, sizeof(rendezvous->bytes), hex);
    int length = snprintf(line, sizeof(line), "%s%s\n", first_word, hex);
    int err = ftruncate(fd, 0) ? -errno : 0;
    if (!err && pwrite(fd, line, (size_t)length, 0) != length)
        err = -EIO;
    explicit_bzero(line, sizeof(line));
    return err;
}

enum rgpu_result rendezvous_file_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_file *file)
{
    enum rgpu_result result = find_path(name, file->path, sizeof(file->path));
    if (result)
        return result;
    file->fd = open_place(file->path);
    if (file->fd == -EBUSY)
        return failure(RGPU_ERROR_INVALID, "another team %s is forming in this job", name);
    int err = file->fd < 0 ? file->fd : write_id(file->fd, rendezvous);
    if (!err)
        return RGPU_SUCCESS;
    if (file->fd >= 0)
        rendezvous_file_forget(file);
    return failure(RGPU_ERROR_INVALID, "%s: %s", file->path, strerror(-err));
}

void rendezvous_file_forget(struct rendezvous_file *file)
{
    unlink(file->path);
    close(file->fd);
}

// Returns 0, or the reason why the file has no id. It may have one a moment later.
static int read_id(const char *path, struct rgpu_rendezvous *rendezvous)
{
    char line[sizeof(first_word) + 2 * sizeof(rendezvous->bytes) + 2];
    SCOPED_FD int fd = descriptor_own(open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return -errno;
    int err = rendezvous_file_check(fd);
    if (err)
        return err;
    size_t word = strlen(first_word), whole = word + 2 * sizeof(rendezvous->bytes) + 1;
    ssize_t length = read(fd, line, sizeof(line));
    if (length != (ssize_t)whole || line[length - 1] != '\n' || memcmp(line, first_word, word) ||
        hex_decode(line + word, 2 * sizeof(rendezvous->bytes), rendezvous->bytes,
                   sizeof(rendezvous->bytes)))
        return -EBADMSG; // the file may still be incomplete
    return 0;
}

enum rgpu_result rendezvous_file_find(const char *name, struct rgpu_rendezvous *rendezvous,
                                      bool *heard)
{
    char path[sizeof(((struct rendezvous_file *)0)->path)];
    enum rgpu_result result = find_path(name, path, sizeof(path));
    *heard = !result && !read_id(path, rendezvous);
    return result;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "team-lib/meeting_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/ticket.h"

// ---- names ----

// What a name is unique in: the lease, or the job, or who uses these boxes.
static void scope_of_names(char *scope, size_t size)
{
    struct ticket_bundle bundle;
    const char *job = getenv("SLURM_JOB_ID"), *boxes = getenv("RGPU_BOXES");
    char lease[TICKET_NAME_MAX];
    bool has_lease = false;
    if (!ticket_bundle_load(&bundle)) {
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

int meeting_place_path(const char *name, char *path, size_t size)
{
    const char *folder = getenv("RGPU_TEAM_DIR");
    char scope[512], whole[1024], hex[2 * SHA256_SIZE + 1];
    uint8_t digest[SHA256_SIZE];
    scope_of_names(scope, sizeof(scope));
    int length = snprintf(whole, sizeof(whole), "%s\n%s", scope, name);
    if (length >= (int)sizeof(whole))
        return -ENAMETOOLONG;
    sha256_of(whole, (size_t)length, digest);
    hex_encode(digest, SHA256_SIZE, hex);
    length = snprintf(path, size, "%s/rgpu-team-%u-%.32s", folder && *folder ? folder : "/tmp",
                      (unsigned int)getuid(), hex);
    return length < (int)size ? 0 : -ENAMETOOLONG;
}

// ---- the file ----

static int check_file(int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    return S_ISREG(status.st_mode) && status.st_uid == getuid() && !(status.st_mode & 077) ? 0
                                                                                           : -EPERM;
}

// The lock is held by who is there, and gone with them. A file that was removed meanwhile is not the place.
static int lock_file(const char *path, int fd)
{
    struct stat mine, there;
    int err = check_file(fd);
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
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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

int meeting_place_take(const char *path, struct meeting_place *place)
{
    char boot[2 * CONTROL_BOOT_ID_BYTES + 1], key[2 * PLACE_KEY + 1], line[512];
    if (getrandom(place->key, PLACE_KEY, 0) != PLACE_KEY)
        return -EIO;
    int fd = open_place(path);
    if (fd < 0)
        return fd;
    hex_encode(place->boot_id, CONTROL_BOOT_ID_BYTES, boot);
    hex_encode(place->key, PLACE_KEY, key);
    int length = snprintf(line, sizeof(line), "rgpu-team-1 %s %u %s %s\n", place->host,
                          (unsigned int)place->port, boot, key);
    if (ftruncate(fd, 0) || pwrite(fd, line, (size_t)length, 0) != length) {
        close(fd);
        return -EIO;
    }
    return fd;
}

int meeting_place_read(const char *path, struct meeting_place *place)
{
    char line[512] = "", boot[64], key[80];
    unsigned int port;
    SCOPED_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = check_file(fd);
    if (err)
        return err;
    ssize_t length = read(fd, line, sizeof(line) - 1);
    if (length <= 0 || line[length - 1] != '\n')
        return -ENOENT; // it is being written
    if (sscanf(line, "rgpu-team-1 %255s %u %63s %79s", place->host, &port, boot, key) != 4 ||
        port > UINT16_MAX ||
        hex_decode(boot, strlen(boot), place->boot_id, CONTROL_BOOT_ID_BYTES) ||
        hex_decode(key, strlen(key), place->key, PLACE_KEY))
        return -EBADMSG;
    place->port = (uint16_t)port;
    return 0;
}

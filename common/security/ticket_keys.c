// SPDX-License-Identifier: BSD-3-Clause
// Key files, rotation, and derivation of a box's keys from the cluster's.
#include "common/base/ascii.h"
#include "common/base/descriptor.h"
#include "common/security/ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/scope.h"

static int read_all(int fd, size_t limit, char **text, size_t *size)
{
    char *buffer = malloc(limit + 1);
    size_t used = 0;

    if (!buffer)
        return -ENOMEM;
    for (;;) {
        ssize_t step = read(fd, buffer + used, limit + 1 - used);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0 || used + (size_t)step > limit) {
            int error = step < 0 ? -errno : -EFBIG;
            explicit_bzero(buffer, used);
            free(buffer);
            return error;
        }
        if (step == 0)
            break;
        used += (size_t)step;
    }
    buffer[used] = '\0';
    *text = buffer;
    *size = used;
    return 0;
}

int ticket_read_private(const char *path, size_t limit, char **text, size_t *size)
{
    struct stat status;
    SCOPED_FD int fd = descriptor_own(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));

    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077) ||
        (status.st_uid != geteuid() && status.st_uid != 0))
        return -EPERM;
    return read_all(fd, limit, text, size);
}

static bool valid_id(const char *id)
{
    size_t size = strlen(id);

    if (size == 0 || size >= TICKET_KEY_ID_MAX)
        return false;
    for (; *id; id++)
        if (!ascii_is_alnum(*id) && !strchr("-_.", *id))
            return false;
    return true;
}

static int parse_key(char *line, struct ticket_keyring *ring)
{
    char *position = NULL, *end = NULL;
    char *id, *secret, *until;
    struct ticket_key *key = &ring->keys[ring->count]; // one beyond the last if the ring is full

    line[strcspn(line, "#")] = '\0';
    id = strtok_r(line, " \t\r", &position);
    if (!id)
        return 0;
    secret = strtok_r(NULL, " \t\r", &position);
    until = strtok_r(NULL, " \t\r", &position);
    if (ring->count == TICKET_KEYS_MAX)
        return -E2BIG;
    if (!valid_id(id) || !secret || strtok_r(NULL, " \t\r", &position) ||
        hex_decode(secret, strlen(secret), key->secret, sizeof(key->secret)) < 0)
        return -EBADMSG;
    for (size_t i = 0; i < ring->count; i++)
        if (!strcmp(ring->keys[i].id, id))
            return -EBADMSG;
    key->until = until ? strtoll(until, &end, 10) : 0;
    if (until && (*end || key->until <= 0))
        return -EBADMSG;
    strcpy(key->id, id);
    ring->count++;
    return 0;
}

int ticket_keyring_parse(const char *text, size_t size, struct ticket_keyring *ring)
{
    struct ticket_keyring out = {0};
    char *position = NULL;
    int error = 0;

    if (memchr(text, '\0', size))
        return -EBADMSG;
    SCOPED_FREE char *copy = strndup(text, size);
    if (!copy)
        return -ENOMEM;
    for (char *line = strtok_r(copy, "\n", &position); line && !error;
         line = strtok_r(NULL, "\n", &position))
        error = parse_key(line, &out);
    if (!error && out.count == 0)
        error = -EBADMSG;
    if (!error)
        *ring = out;
    explicit_bzero(copy, size);
    explicit_bzero(&out, sizeof(out));
    return error;
}

int ticket_keyring_load(const char *path, struct ticket_keyring *ring)
{
    SCOPED_FREE char *text = NULL;
    size_t size;
    int error = ticket_read_private(path, 65536, &text, &size);

    if (error)
        return error;
    error = ticket_keyring_parse(text, size, ring);
    explicit_bzero(text, size);
    return error;
}

const char *ticket_keyring_explain(int error)
{
    switch (error) {
    case -EPERM:
    case -EACCES: return "it must belong to the user who reads it, with mode 0600";
    case -EBADMSG: return "it is not a key file, which has lines \"ID HEX64\"";
    case -E2BIG: return "it has more than 256 keys";
    default: return strerror(-error);
    }
}

int ticket_keyring_print(const struct ticket_keyring *ring, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < ring->count; i++) {
        const struct ticket_key *key = &ring->keys[i];
        char hex[2 * SHA256_SIZE + 1], end[32] = "";
        int step;

        hex_encode(key->secret, sizeof(key->secret), hex);
        if (key->until)
            snprintf(end, sizeof(end), " %lld", (long long)key->until);
        step = snprintf(text + used, size - used, "%s %s%s\n", key->id, hex, end);
        explicit_bzero(hex, sizeof(hex));
        if (step < 0 || (size_t)step >= size - used)
            return -ENOSPC;
        used += (size_t)step;
    }
    return (int)used;
}

void ticket_keyring_derive(const struct ticket_keyring *cluster, const char *box,
                           struct ticket_keyring *ring)
{
    static const char purpose[] = "rgpu box ticket key\n";
    struct ticket_keyring out = *cluster;

    for (size_t i = 0; i < out.count; i++) {
        struct hmac_sha256 mac;

        hmac_sha256_start(&mac, cluster->keys[i].secret, SHA256_SIZE);
        hmac_sha256_add(&mac, purpose, sizeof(purpose) - 1);
        hmac_sha256_add(&mac, box, strlen(box));
        hmac_sha256_finish(&mac, out.keys[i].secret);
    }
    *ring = out;
}

int ticket_key_generate(const char *id, struct ticket_key *key)
{
    if (!valid_id(id))
        return -EINVAL;
    if (getrandom(key->secret, sizeof(key->secret), 0) != sizeof(key->secret))
        return -EIO;
    strcpy(key->id, id);
    key->until = 0;
    return 0;
}

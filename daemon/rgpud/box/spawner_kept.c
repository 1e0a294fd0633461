// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/spawner_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "common/net/fdpass.h"
#include "common/service/sealed_file.h"

void spawner_kept_free(struct spawner_kept **kept)
{
    const int sockets[] = {(*kept)->ends[0], (*kept)->ends[1]};
    const int files[] = {(*kept)->ends[2], (*kept)->proc_fd};

    for (int i = 0; i < 2; i++) {
        if (sockets[i] >= 0)
            fdpass_close(sockets[i]);
        if (files[i] >= 0)
            close(files[i]);
    }
    for (size_t i = 0; i < (*kept)->stored_count; i++)
        if ((*kept)->stored[i] >= 0)
            close((*kept)->stored[i]);
    free(*kept);
    *kept = NULL;
}

struct spawner_kept *spawner_kept_find(const struct spawner_kept_list *list, uint64_t number)
{
    struct spawner_kept *kept;

    TAILQ_FOREACH(kept, list, link)
        if (kept->number == number)
            return kept;
    return NULL;
}

static struct spawner_kept *spawner_kept_add(struct spawner_kept_list *list,
                                             const struct spawner_reply *reply)
{
    struct spawner_kept *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return NULL;
    *kept = (struct spawner_kept){.number = reply->number,
                                  .kind = reply->kind,
                                  .pid = reply->pid,
                                  .user = reply->user,
                                  .proc_fd = -1,
                                  .ends = {-1, -1, -1}};
    TAILQ_INSERT_TAIL(list, kept, link);
    return kept;
}

static int spawner_kept_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

// The first descriptor is a pidfd, which rgpud does not need.
void spawner_kept_listed(struct spawner_kept_list *list, const struct spawner_reply *reply,
                         const int *fds, size_t count)
{
    struct spawner_kept *kept = spawner_kept_add(list, reply);

    if (!kept || count != 2 + SPAWNER_KEPT)
        return;
    kept->proc_fd = spawner_kept_copy(fds[1]);
    for (int i = 0; i < SPAWNER_KEPT; i++)
        kept->ends[i] = spawner_kept_copy(fds[2 + i]);
}

void spawner_kept_stored(struct spawner_kept_list *list, const struct spawner_reply *reply,
                         const int *fds, size_t count)
{
    // There may be ten thousands of rgpud's own, which are listed once.
    struct spawner_kept *kept = reply->number < SPAWNER_PROCESSES
                                    ? spawner_kept_add(list, reply)
                                    : spawner_kept_find(list, reply->number);

    for (size_t i = 0; kept && i < count && i < SPAWNER_STORE_MAX; i++)
        kept->stored[kept->stored_count++] = spawner_kept_copy(fds[i]);
}

// ---- records ----

int spawner_kept_pack(enum control_message_type type, const void *message)
{
    SCOPED_FREE uint8_t *bytes = malloc(CONTROL_PACKET_MAX);
    int size = bytes ? control_encode(type, message, bytes, CONTROL_PACKET_MAX) : -ENOMEM;
    int fd = size < 0 ? size : sealed_file_make("rgpu-kept", bytes, (size_t)size);

    if (bytes)
        explicit_bzero(bytes, CONTROL_PACKET_MAX);
    return fd;
}

int spawner_kept_unpack(int fd, enum control_message_type type, void *out)
{
    SCOPED_FREE uint8_t *bytes = malloc(CONTROL_PACKET_MAX);
    struct control_frame frame = {.capacity = 0};
    int size = bytes ? sealed_file_read(fd, bytes, CONTROL_PACKET_MAX) : -ENOMEM;

    if (size < CONTROL_HEADER_BYTES)
        return size < 0 ? size : -EBADMSG;
    int err = control_parse_header(bytes, &frame.header);
    if (!err && frame.header.size != (size_t)size - CONTROL_HEADER_BYTES)
        err = -EBADMSG;
    frame.body = bytes + CONTROL_HEADER_BYTES;
    if (!err)
        err = control_decode(&frame, type, out);
    explicit_bzero(bytes, CONTROL_PACKET_MAX);
    return err;
}

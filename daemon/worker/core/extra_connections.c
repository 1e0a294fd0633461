// SPDX-License-Identifier: BSD-3-Clause
// A thread for each connection waits for the client's first message. A connection that cannot join
// the link is closed; no data were sent over it.
#include "daemon/worker/core/extra_connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/control_stream.h"
#include "common/net/expected_connection.h"
#include "common/base/log.h"
#include "transport/link/link.h"
#include "daemon/worker/core/session.h"

enum {
    RENDEZVOUS_MS = 10000,
    RESUMED = CONTROL_RESUME_NUMBER - CONTROL_EXTRA_NUMBER, // from here on: lost ones are continued
};

struct coming {
    unsigned index;
    int fd;
    uint8_t secret[TLS_SECRET_BYTES];
};

static int take_resumed(const struct coming *coming, struct control_stream *stream,
                        int64_t deadline)
{
    struct control_resume claim;

    link_reconnect_extend(session.link, coming->index - RESUMED);
    int err = control_expect(stream, CONTROL_RESUME, &claim, deadline);

    return err ? err
               : link_resume(session.link, coming->index - RESUMED, &claim, stream, coming->secret);
}

static int extra_add(struct coming *coming, struct control_stream *stream)
{
    struct control_extra_connection message;
    int64_t deadline = clock_ms() + RENDEZVOUS_MS;
    int err = session.privacy ? expected_connection_protect(stream->fd, true, coming->secret,
                                                            deadline, &stream->tls)
                              : 0;

    if (!err && coming->index >= RESUMED)
        return take_resumed(coming, stream, deadline);
    if (!err)
        err = control_expect(stream, CONTROL_EXTRA_CONNECTION, &message, deadline);
    return err ? err
               : link_tcp_extra(session.link, coming->index, message.count, stream->fd,
                                stream->tls);
}

static void *extra_take(void *argument)
{
    struct coming *coming = argument;
    struct control_stream stream = {.fd = coming->fd};
    int err = extra_add(coming, &stream);

    if (err) {
        log_info("a further connection is of no use number=%u error=\"%s\"", coming->index,
                 strerror(-err));
        tls_discard(&stream.tls);
        close(stream.fd);
    }
    explicit_bzero(coming, sizeof(*coming));
    free(coming);
    return NULL;
}

void extra_came(unsigned index, int fd, const uint8_t secret[CONTROL_SECRET_BYTES])
{
    struct coming *coming = session.link ? malloc(sizeof(*coming)) : NULL;
    pthread_t thread;

    if (!coming) {
        close(fd);
        return;
    }
    *coming = (struct coming){.index = index, .fd = fd};
    memcpy(coming->secret, secret, sizeof(coming->secret));
    if (!pthread_create(&thread, NULL, extra_take, coming)) {
        pthread_detach(thread);
        return;
    }
    explicit_bzero(coming, sizeof(*coming));
    free(coming);
    close(fd);
}

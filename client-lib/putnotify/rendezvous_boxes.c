// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/rendezvous_boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/net/session_client.h"

enum {
    ADDRESSES_MAX = 16,
    TIMEOUT_MS = 12000, // for an answer; a box answers without a result after 10 s
};

// Open connections. The boxes answer for the name while these are open.
struct published_boxes {
    size_t count;
    struct control_stream streams[];
};

static void begin_meet(const char *name, struct control_rendezvous *meet)
{
    _Static_assert(sizeof(meet->name) == SHA256_SIZE, "a name is known by its digest");
    _Static_assert(sizeof(meet->id) == sizeof(struct rgpu_rendezvous), "an id is known whole");
    *meet = (struct control_rendezvous){.magic = CONTROL_MAGIC};
    sha256_of(name, strlen(name), meet->name);
}

// Sends MEET to the first address of the box that accepts a connection, and waits WAIT_MS for the
// answer (0: the usual time). The caller closes the stream in any case.
static int rendezvous_boxes_ask_box(const struct ticket_entry *entry,
                                    const struct control_rendezvous *meet, int wait_ms,
                                    struct control_stream *stream,
                                    struct control_rendezvous_reply *out,
                                    struct session_error *error)
{
    struct endpoint addresses[ADDRESSES_MAX];
    struct session_request request = {
        .box = entry->box,
        .token = entry->token,
        .connect_timeout_ms = wait_ms < SESSION_CONNECT_TIMEOUT_MS ? wait_ms : 0,
    };
    int count =
        endpoint_parse_list(entry->addresses, ENDPOINT_DEFAULT_PORT, addresses, ADDRESSES_MAX);
    snprintf(error->text, sizeof(error->text), "the ticket has no address of box %s", entry->box);
    for (int i = 0; i < count; i++) {
        request.endpoint = addresses[i];
        if (!session_ask_open(&request, stream, error))
            return session_rendezvous(&request, stream, meet, wait_ms, out, error);
    }
    return -1;
}

static enum rgpu_result nowhere(const struct session_error *error)
{
    return failure(RGPU_ERROR_INVALID,
                   "no box of the lease lets processes meet, the last one because: %s "
                   "(RGPU_TEAM_DIR names a directory to meet by instead)",
                   error->text);
}

enum rgpu_result rendezvous_boxes_publish(const struct ticket_bundle *bundle, const char *name,
                                          const struct rgpu_rendezvous *rendezvous,
                                          struct published_boxes **known)
{
    struct session_error error = {0};
    struct control_rendezvous_reply answer;
    struct control_rendezvous meet;
    struct published_boxes *made =
        calloc(1, sizeof(*made) + bundle->count * sizeof(made->streams[0]));
    bool is_taken = false;
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a rendezvous");
    begin_meet(name, &meet);
    meet.says = 1;
    memcpy(meet.id, rendezvous->bytes, sizeof(meet.id));
    for (size_t i = 0; i < bundle->count && !is_taken; i++) {
        struct control_stream *stream = &made->streams[made->count];
        stream->fd = -1;
        int err = rendezvous_boxes_ask_box(&bundle->entries[i], &meet, 0, stream, &answer, &error);
        is_taken = !err && answer.state == CONTROL_RENDEZVOUS_REPLY_STATE_TAKEN;
        if (!err && answer.state == CONTROL_RENDEZVOUS_REPLY_STATE_SAID)
            made->count++;
        else
            session_stream_close(stream);
    }
    explicit_bzero(&meet, sizeof(meet));
    *known = made;
    if (made->count && !is_taken)
        return RGPU_SUCCESS;
    rendezvous_boxes_forget(known);
    return is_taken ? failure(RGPU_ERROR_INVALID, "another team %s is forming in this lease", name)
                    : nowhere(&error);
}

void rendezvous_boxes_forget(struct published_boxes **known)
{
    for (size_t i = 0; i < (*known)->count; i++)
        session_stream_close(&(*known)->streams[i]);
    free(*known);
    *known = NULL;
}

static int timeout(uint64_t deadline)
{
    int left = deadline_left(deadline);
    return left < 0 || left > TIMEOUT_MS ? TIMEOUT_MS : left ? left : 1;
}

enum rgpu_result rendezvous_boxes_find(const struct ticket_bundle *bundle, const char *name,
                                       unsigned tries, uint64_t deadline,
                                       struct rgpu_rendezvous *rendezvous, bool *heard)
{
    struct session_error error = {0};
    struct control_rendezvous meet;
    begin_meet(name, &meet);
    for (size_t i = 0; i < bundle->count; i++) {
        struct control_stream stream = {.fd = -1};
        struct control_rendezvous_reply answer;
        int err = rendezvous_boxes_ask_box(&bundle->entries[(tries + i) % bundle->count], &meet,
                                           timeout(deadline), &stream, &answer, &error);
        session_stream_close(&stream);
        if (err && !deadline_left(deadline))
            return RGPU_SUCCESS;
        *heard = !err && answer.state == CONTROL_RENDEZVOUS_REPLY_STATE_SAID;
        if (*heard)
            memcpy(rendezvous->bytes, answer.id, sizeof(rendezvous->bytes));
        if (!err)
            return RGPU_SUCCESS;
    }
    return nowhere(&error);
}

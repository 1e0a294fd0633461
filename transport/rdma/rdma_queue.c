// SPDX-License-Identifier: BSD-3-Clause
// Command channel: posts messages as far as the peer's credit allows, processes completions, and
// sleeps until there are some.
//
// Every message uses a receive of the peer, which posts it again later. Once half of its receives
// or half of its ring are free, the peer returns them in a credit message. The last RDMA_KEPT
// receives and sends are reserved for credit messages: if records could use all of them, neither
// side could give credit.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/rdma/rdma_private.h"
#include "transport/tcp/tcp_reconnect.h"
#include "common/base/scope.h"
#include "common/base/wait.h"

enum { POLL_BATCH = 16, LOOK_MS = 200 };

void rdma_ring_event(int event)
{
    uint64_t one = 1;

    while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

// Returns true if the client has said that it leaves.
static bool client_has_left(const struct rdma_link *rdma)
{
    uint32_t words[] = {0, 0};

    return recv(rdma->watch, words, sizeof(words), MSG_PEEK | MSG_DONTWAIT) == sizeof(words) &&
           !words[0] && words[1] == TCP_GOODBYE;
}

int rdma_lose(struct rdma_link *rdma, int error, const char *reason)
{
    struct tcp_stream *control = &rdma->control;

    if (!control->survives || client_has_left(rdma))
        return link_fail(&rdma->base, error, "%s", reason);
    return tcp_stream_break(control, atomic_load(&control->age), error, "waiting");
}

int rdma_gone(struct rdma_link *rdma)
{
    return rdma_lose(rdma, -EPIPE, "the peer has gone");
}

// ---- posting ----

// Returns true if a message can be posted; under post_lock, or as a guess without.
static bool rdma_queue_has_room(const struct rdma_link *rdma, unsigned kept)
{
    uint64_t waiting = rdma->posted - atomic_load_explicit(&rdma->completed, memory_order_acquire);
    uint64_t unanswered = rdma->messages -
                          atomic_load_explicit(&rdma->messages_acknowledged, memory_order_acquire);

    // The completion of unsignaled sends is only known after the next signaled send.
    return waiting < RDMA_SENDS - kept && unanswered < RDMA_RECEIVES - kept;
}

bool rdma_may_post(struct rdma_link *rdma)
{
    SCOPED_LOCK(&rdma->post_lock);
    return rdma_queue_has_room(rdma, RDMA_KEPT) || rdma_is_lost(rdma);
}

// Under post_lock, with room.
static int rdma_queue_post(struct rdma_link *rdma, struct ibv_send_wr *send)
{
    struct ibv_send_wr *bad;

    send->wr_id = rdma->posted + 1;
    if (send->wr_id % RDMA_SIGNAL_EVERY == 0)
        send->send_flags |= IBV_SEND_SIGNALED;
    int r = ibv_post_send(rdma->end.pairs[RDMA_COMMANDS], send, &bad);
    if (r)
        return link_fail(&rdma->base, -r, "posting a message failed: %s", strerror(r));
    rdma->posted++;
    return 0;
}

static int post_message(struct rdma_link *rdma, uint32_t immediate, struct ibv_sge *part,
                        uint64_t to, unsigned kept)
{
    struct ibv_send_wr send = {
        .sg_list = part,
        .num_sge = part->length ? 1 : 0,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = IBV_SEND_SOLICITED,
        .imm_data = htonl(immediate),
        .wr.rdma = {.remote_addr = to, .rkey = rdma->peer_key},
    };

    if (!rdma_queue_has_room(rdma, kept))
        return -EAGAIN;
    if (part->length && part->length <= rdma->end.inline_max)
        send.send_flags |= IBV_SEND_INLINE;
    int r = rdma_queue_post(rdma, &send);
    if (!r)
        rdma->messages++;
    return r;
}

int rdma_post_gathered(struct rdma_link *rdma)
{
    SCOPED_LOCK(&rdma->post_lock);
    int r = 0;
    uint64_t from = atomic_load_explicit(&rdma->left, memory_order_relaxed);
    uint64_t to = atomic_load_explicit(&rdma->produced, memory_order_acquire);
    // While the connection is lost, records wait in the ring.
    if (to != from && !rdma_is_lost(rdma)) {
        uint64_t position = from & (RDMA_RING_SIZE - 1);
        struct ibv_sge part = {.addr = (uintptr_t)rdma->end.out + position,
                               .length = (uint32_t)(to - from),
                               .lkey = rdma->end.rings->lkey};
        r = post_message(rdma, part.length / 8, &part, rdma->peer_ring + position, RDMA_KEPT);
        if (!r) {
            atomic_store(&rdma->left, to);
            atomic_fetch_add_explicit(&rdma->base.sent, part.length, memory_order_relaxed);
        }
    }
    return r;
}

void rdma_return_credit(struct rdma_link *rdma)
{
    SCOPED_LOCK(&rdma->post_lock);
    uint64_t receives = atomic_load(&rdma->receives) - rdma->receives_reported;
    uint64_t bytes = atomic_load(&rdma->consumed) - rdma->bytes_reported;
    if ((receives >= RDMA_RECEIVES / 2 || bytes >= RDMA_RING_SIZE / 2) &&
        !link_failure(&rdma->base) && !rdma_is_lost(rdma)) {
        struct ibv_sge none = {0};
        uint32_t immediate = RDMA_IMMEDIATE_CREDIT | (uint32_t)receives << 18 |
                             (uint32_t)(bytes / 8);
        if (post_message(rdma, immediate, &none, rdma->peer_ring, 0) == 0) {
            rdma->receives_reported += receives;
            rdma->bytes_reported += bytes;
        }
    }
}

// Called after every third of the dead time that passes without anything. A write of nothing: the
// peer's device answers it, or the send fails when its retries are used up; some devices retry for
// longer.
void rdma_post_keepalive(struct rdma_link *rdma)
{
    struct ibv_send_wr send = {
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = rdma->peer_ring, .rkey = rdma->peer_key},
    };

    rdma_progress(rdma, RDMA_NOBODY);
    SCOPED_LOCK(&rdma->post_lock);
    if (rdma_is_lost(rdma))
        return;
    uint64_t completed = atomic_load(&rdma->completed), now = clock_ns();
    if (rdma->keepalive > completed) {
        if (now - rdma->asked_at >= (uint64_t)rdma->end.dead_ms * 600000)
            rdma_lose(rdma, -ETIMEDOUT, "the peer does not answer");
    } else if (!link_failure(&rdma->base) && rdma->posted - completed < RDMA_SENDS &&
               rdma_queue_post(rdma, &send) == 0) {
        rdma->keepalive = rdma->posted;
        rdma->asked_at = now;
    }
}

// ---- completions ----

static void rdma_queue_failed(struct rdma_link *rdma, const struct ibv_wc *completion)
{
    if (completion->status == IBV_WC_RETRY_EXC_ERR)
        rdma_lose(rdma, -ETIMEDOUT, "the peer does not answer");
    else if (completion->status == IBV_WC_WR_FLUSH_ERR)
        rdma_gone(rdma);
    else if (completion->status == IBV_WC_RNR_RETRY_EXC_ERR)
        link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: it posts no receives");
    else
        link_fail(&rdma->base, -EPROTO, "the command channel failed: %s",
                  verbs.ibv_wc_status_str(completion->status));
}

static bool has_sent(struct rdma_link *rdma, uint64_t messages)
{
    SCOPED_LOCK(&rdma->post_lock);
    return messages <= rdma->messages;
}

static int rdma_queue_take_message(struct rdma_link *rdma, uint32_t immediate)
{
    uint64_t bytes = RDMA_IMMEDIATE_BYTES(immediate);

    if (immediate & RDMA_IMMEDIATE_CREDIT) {
        uint64_t taken = atomic_load(&rdma->acknowledged) + bytes;
        uint64_t answered = atomic_load(&rdma->messages_acknowledged) +
                            RDMA_IMMEDIATE_RECEIVES(immediate);
        if (!has_sent(rdma, answered) || bytes > RDMA_RING_SIZE)
            return link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: credit");
        atomic_store(&rdma->acknowledged, taken);
        atomic_store(&rdma->messages_acknowledged, answered);
        return 0;
    }
    uint64_t arrived = atomic_load_explicit(&rdma->arrived, memory_order_relaxed) + bytes;
    if (!bytes || arrived - atomic_load(&rdma->consumed) > RDMA_RING_SIZE)
        return link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: position");
    atomic_store(&rdma->arrived, arrived);
    return 0;
}

// Many at a time: the peer learns of them in portions anyway.
static int post_receives(struct rdma_link *rdma)
{
    struct ibv_recv_wr receives[RDMA_REPOST] = {0}, *bad;

    if (rdma->unposted < RDMA_REPOST)
        return 0;
    for (int i = 0; i + 1 < RDMA_REPOST; i++)
        receives[i].next = &receives[i + 1];
    int r = ibv_post_recv(rdma->end.pairs[RDMA_COMMANDS], receives, &bad);
    if (r)
        return link_fail(&rdma->base, -r, "posting receives failed: %s", strerror(r));
    rdma->unposted -= RDMA_REPOST;
    atomic_fetch_add(&rdma->receives, RDMA_REPOST);
    return 0;
}

// One batch; whether there may be more.
static bool take_completions(struct rdma_link *rdma)
{
    struct ibv_wc completions[POLL_BATCH];
    int count = ibv_poll_cq(rdma->end.queue[RDMA_COMMANDS], POLL_BATCH, completions);

    for (int i = 0; i < count; i++) {
        const struct ibv_wc *completion = &completions[i];
        if (completion->status != IBV_WC_SUCCESS) {
            rdma_queue_failed(rdma, completion);
            return false;
        }
        if (completion->opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
            if (completion->opcode & IBV_WC_RECV) {
                link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: message");
                return false;
            }
            atomic_store(&rdma->completed, completion->wr_id);
            continue;
        }
        rdma->unposted++;
        if (rdma_queue_take_message(rdma, ntohl(completion->imm_data)))
            return false;
    }
    return post_receives(rdma) == 0 && count == POLL_BATCH;
}

// Under poll_lock, which it gives back.
static void progress(struct rdma_link *rdma, enum rdma_waiter who)
{
    uint64_t arrived, completed, acknowledged;

    arrived = atomic_load(&rdma->arrived);
    completed = atomic_load(&rdma->completed);
    acknowledged = atomic_load(&rdma->messages_acknowledged);
    while (!rdma_is_lost(rdma) && take_completions(rdma))
        ;
    bool data = atomic_load(&rdma->arrived) != arrived;
    bool room = atomic_load(&rdma->completed) != completed ||
                atomic_load(&rdma->messages_acknowledged) != acknowledged;
    pthread_mutex_unlock(&rdma->poll_lock);
    if (data && who != RDMA_RECEIVER && atomic_load(&rdma->receiver_sleeps))
        rdma_ring_event(rdma->interrupt);
    if (room && who != RDMA_SENDER && atomic_load(&rdma->sender_sleeps))
        rdma_ring_event(rdma->space);
    if (atomic_load(&rdma->receives) - rdma->receives_reported >= RDMA_RECEIVES / 2)
        rdma_return_credit(rdma);
}

void rdma_progress(struct rdma_link *rdma, enum rdma_waiter who)
{
    if (!link_failure(&rdma->base) && !pthread_mutex_trylock(&rdma->poll_lock))
        progress(rdma, who);
}

void rdma_progress_armed(struct rdma_link *rdma, enum rdma_waiter who)
{
    if (link_failure(&rdma->base))
        return;
    pthread_mutex_lock(&rdma->poll_lock);
    progress(rdma, who);
}

// ---- the loss of a connection ----

void rdma_queue_halt(struct rdma_link *rdma)
{
    struct ibv_wc completions[POLL_BATCH];
    int count;

    // Credit is counted anew. What is not counted here is sent again.
    while ((count = ibv_poll_cq(rdma->end.queue[RDMA_COMMANDS], POLL_BATCH, completions)) > 0) {
        for (int i = 0; i < count; i++) {
            uint32_t immediate = ntohl(completions[i].imm_data);
            if (completions[i].status == IBV_WC_SUCCESS &&
                completions[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
                !(immediate & RDMA_IMMEDIATE_CREDIT))
                rdma_queue_take_message(rdma, immediate);
        }
    }
}

int rdma_queue_rewind(struct rdma_link *rdma, uint64_t received, uint64_t taken)
{
    SCOPED_LOCK(&rdma->poll_lock);
    SCOPED_LOCK(&rdma->post_lock);
    if (received > atomic_load(&rdma->left) || taken > received ||
        taken < atomic_load(&rdma->acknowledged))
        return -EPROTO;
    atomic_store(&rdma->left, received);
    atomic_store(&rdma->acknowledged, taken);
    atomic_store(&rdma->bytes_reported, rdma->taken);
    atomic_store(&rdma->completed, rdma->posted);
    atomic_store(&rdma->messages_acknowledged, rdma->messages);
    atomic_store(&rdma->receives_reported, atomic_load(&rdma->receives));
    rdma->unposted = 0;
    rdma->keepalive = 0;
    return 0;
}

// ---- sleeping ----

// Makes the queue raise an event with its next completion. One request is enough: the queue stays
// armed until the event has been read, and until then the event wakes a sleeping thread at once.
void rdma_arm(struct rdma_link *rdma, bool sends_too)
{
    int wanted = sends_too ? 2 : 1;

    if (atomic_load(&rdma->armed) >= wanted)
        return;
    atomic_store(&rdma->armed, wanted);
    int r = ibv_req_notify_cq(rdma->end.queue[RDMA_COMMANDS], sends_too ? 0 : 1);
    if (r)
        link_fail(&rdma->base, -r, "completions cannot be waited for: %s", strerror(r));
}

static void take_connection_events(struct rdma_link *rdma)
{
    struct rdma_cm_event *event;

    while (verbs.rdma_get_cm_event(rdma->end.events, &event) == 0) {
        // An identifier is destroyed only after its events were acknowledged.
        if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
            event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
            atomic_store(&rdma->disconnected, true);
        verbs.rdma_ack_cm_event(event);
    }
}

// Takes one event of possibly several. The remaining ones wake the next sleeper at once, and a
// thread that has taken one looks for completions before it sleeps again, so that none is missed.
static void take_completion_event(struct rdma_link *rdma, enum rdma_waiter who)
{
    struct ibv_cq *queue;
    void *argument;

    if (verbs.ibv_get_cq_event(rdma->end.completions[RDMA_COMMANDS], &queue, &argument))
        return; // the other sleeper was quicker
    verbs.ibv_ack_cq_events(rdma->end.queue[RDMA_COMMANDS], 1);
    atomic_store(&rdma->armed, 0);
    // The other sleeping thread waited for this event too, and the completions may not be those
    // that it needs. It needs another event to be woken.
    if (atomic_load(who == RDMA_RECEIVER ? &rdma->sender_sleeps : &rdma->receiver_sleeps))
        rdma_arm(rdma, true);
}

// While the connection is lost: until it is back, or the time for that is over.
static int sleep_without_connection(struct rdma_link *rdma, int event, uint64_t deadline)
{
    struct pollfd wait = {.fd = event, .events = POLLIN};
    int limit = deadline_left(deadline);
    uint64_t count;

    if (atomic_load(&rdma->control.over))
        return -EPIPE;
    if (!tcp_stream_check(&rdma->control) || link_failure(&rdma->base))
        return 0;
    int ready = poll(&wait, 1, limit >= 0 && limit < LOOK_MS ? limit : LOOK_MS);
    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    if (ready && read(event, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return -errno;
    return deadline_left(deadline) ? 0 : -ETIMEDOUT;
}

int rdma_sleep(struct rdma_link *rdma, enum rdma_waiter who, uint64_t deadline)
{
    int event = who == RDMA_SENDER ? rdma->space : rdma->interrupt;
    unsigned age = atomic_load_explicit(&rdma->control.age, memory_order_relaxed);
    struct pollfd wait[] = {{.fd = event, .events = POLLIN},
                            {.fd = rdma->end.completions[RDMA_COMMANDS]->fd, .events = POLLIN},
                            {.fd = rdma->end.events->fd, .events = POLLIN},
                            {.fd = rdma->watch, .events = POLLRDHUP}};
    int limit = deadline_left(deadline), ready;
    bool idle = limit < 0 || limit > (int)rdma->keepalive_ms;
    uint64_t count;

    if (rdma_is_lost(rdma))
        return sleep_without_connection(rdma, event, deadline);
    ready = poll(wait, 4, idle ? (int)rdma->keepalive_ms : limit);
    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    if (!ready && idle) {
        rdma_post_keepalive(rdma);
        return 0;
    }
    if (!ready)
        return -ETIMEDOUT;
    if (wait[0].revents && read(event, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return -errno;
    if (wait[1].revents)
        take_completion_event(rdma, who);
    if (wait[2].revents)
        take_connection_events(rdma);
    if (rdma_is_lost(rdma) || atomic_load(&rdma->control.age) != age)
        return 0;
    return wait[3].revents || atomic_load(&rdma->disconnected) ? -EPIPE : 0;
}

bool rdma_peer_has_ended(struct rdma_link *rdma)
{
    struct pollfd ends[] = {{.fd = rdma->end.events->fd, .events = POLLIN},
                            {.fd = rdma->watch, .events = POLLRDHUP}};

    if (rdma_is_lost(rdma))
        return false;
    if (poll(ends, 2, 0) > 0 && ends[0].revents)
        take_connection_events(rdma);
    return ends[1].revents || atomic_load(&rdma->disconnected);
}

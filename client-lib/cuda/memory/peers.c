// SPDX-License-Identifier: BSD-3-Clause
// Peer links: their list, the requests to their two ends, and the frames that pass through this
// process if the boxes have no direct link. A separate thread passes these on, so that no thread of
// the program has to.
//
// If a link fails while both of its sessions live, the next copy gives it up and makes another one.
// Copies that were under way have failed by then, or will.
#include "client-lib/cuda/memory/peers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/objects/windows.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum {
    SETTLE_EVERY = 256, // copies; each time the caller waits for all but the last SETTLE_EVERY of
                        // them
};

// A frame that the thread sends.
struct passing {
    struct box_session *to;
    struct wire_peer_frame frame; // kind 0: the other end is lost, with `result`
    void *payload;
    struct passing *next;
};

struct peer {
    uint32_t number;
    struct box_session *ends[2];
    bool direct; // the ends have their own link
    CUresult lost;
    bool retired;              // replaced, or about to be
    pthread_mutex_t asking;    // copies are requested in the order of their numbers
    uint64_t last_job;         // under `asking`
    unsigned int under_way[2]; // copies, by the end whose stream they belong to
    struct peer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    // protects the list, and the frames to
                                                            // pass on
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER; // one link at a time
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct passing *first_passing, **last_passing = &first_passing;
static bool passes; // the thread runs
static struct peer *peers;
static uint32_t last_number;

// ---- the thread that passes frames on ----

static struct passing *next_passing(void)
{
    SCOPED_LOCK(&lock);
    while (!first_passing)
        pthread_cond_wait(&more, &lock);
    struct passing *passing = first_passing;
    first_passing = passing->next;
    if (!first_passing)
        last_passing = &first_passing;
    return passing;
}

static void peers_send_frame(const struct passing *passing)
{
    const struct wire_peer_frame *frame = &passing->frame;
    struct {
        struct wire_request head;
        struct args_peer_frame args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_peer_frame},
        .args = {.peer = frame->peer,
                 .kind = frame->kind,
                 .job = frame->job,
                 .offset = frame->offset,
                 .size = frame->bytes,
                 .result = frame->result},
    };
    struct link *link = passing->to->link;
    if (link_send_bulk(link, &record, sizeof(record), passing->payload, frame->bytes) ||
        link_flush(link))
        session_fail(passing->to, CUDA_ERROR_DEVICE_UNAVAILABLE, link_error(link));
}

static void close_end(const struct passing *passing)
{
    struct call call = {.session = passing->to, .op = OP_peer_close};
    struct args_peer_close *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return;
    args->peer = passing->frame.peer;
    args->result = passing->frame.result;
    call_post(&call);
    link_flush(passing->to->link);
}

static void *pass_on_frames(void *unused)
{
    for (;;) {
        struct passing *passing = next_passing();
        if (passing->frame.kind)
            peers_send_frame(passing);
        else
            close_end(passing);
        free(passing->payload);
        free(passing);
    }
    return NULL;
}

// The caller holds the lock. Takes ownership of the payload.
static bool pass(struct box_session *to, const struct wire_peer_frame *frame, void *payload)
{
    struct passing *passing = malloc(sizeof(*passing));
    passes = passes || thread_start(pass_on_frames, NULL);
    if (!passing || !passes) {
        free(passing);
        free(payload);
        return false;
    }
    *passing = (struct passing){.to = to, .frame = *frame, .payload = payload};
    *last_passing = passing;
    last_passing = &passing->next;
    pthread_cond_signal(&more);
    return true;
}

// ---- links ----

static bool has_end(const struct peer *peer, const struct box_session *session)
{
    return peer->ends[0] == session || peer->ends[1] == session;
}

static struct box_session *other_end(const struct peer *peer, const struct box_session *session)
{
    return peer->ends[peer->ends[0] == session];
}

// Counts copies of a stream of SESSION that begin or end. If data pass through this process, frames
// of both ends must be received meanwhile.
static void peers_count(struct peer *peer, const struct box_session *session, int change)
{
    if (peer->direct)
        return;
    {
        SCOPED_LOCK(&lock);
        peer->under_way[peer->ends[1] == session] += (unsigned int)change;
    }
    session_expect(peer->ends[0], change);
    session_expect(peer->ends[1], change);
}

static struct peer *find_between(struct box_session *a, struct box_session *b)
{
    SCOPED_LOCK(&lock);
    struct peer *peer = peers;
    while (peer && (peer->retired || !(has_end(peer, a) && has_end(peer, b))))
        peer = peer->next;
    return peer;
}

// Asks one end how it can be reached. The end also expects the other one from then on.
static CUresult ask_offer(const struct peer *peer, struct box_session *session, bool privacy,
                          uint32_t ways, struct wire_peer_offer *offer)
{
    const char *name = other_end(peer, session)->box;
    struct call call = {.session = session, .op = ways ? OP_peer_expect : OP_peer_offer};
    size_t head = ways ? sizeof(struct args_peer_expect) : sizeof(struct args_peer_offer);
    uint32_t size = (uint32_t)strlen(name);
    size_t used = 0;
    void *args = call_reserve(&call, head + size);
    if (!args)
        return call.result;
    if (ways)
        *(struct args_peer_expect *)args = (struct args_peer_expect){.peer = peer->number,
                                                                     .privacy = privacy,
                                                                     .ways = ways,
                                                                     .bytes = size,
                                                                     .reply_room = sizeof(*offer)};
    else
        *(struct args_peer_offer *)args = (struct args_peer_offer){
            .peer = peer->number, .privacy = privacy, .bytes = size, .reply_room = sizeof(*offer)};
    memcpy((uint8_t *)args + head, name, size);
    CUresult result = call_wait_bytes(&call, NULL, 0, offer, sizeof(*offer), &used);
    offer->refusal[sizeof(offer->refusal) - 1] = '\0';
    return result == CUDA_SUCCESS && used != sizeof(*offer) ? CUDA_ERROR_UNKNOWN : result;
}

// Asks the second end to connect to the first.
static CUresult ask_call(const struct peer *peer, struct box_session *session, bool privacy,
                         uint32_t ways, const struct wire_peer_offer *offer,
                         struct wire_peer_met *met)
{
    const char *name = other_end(peer, session)->box;
    struct call call = {.session = session, .op = ways ? OP_peer_meet : OP_peer_call};
    size_t head = ways ? sizeof(struct args_peer_meet) : sizeof(struct args_peer_call), used = 0;
    uint32_t size = (uint32_t)(sizeof(*offer) + strlen(name));
    // A box of an earlier release returns only the refusal.
    uint32_t room = ways ? sizeof(*met) : sizeof(met->refusal);
    void *args = call_reserve(&call, head + size);
    if (!args)
        return call.result;
    if (ways)
        *(struct args_peer_meet *)args = (struct args_peer_meet){.peer = peer->number,
                                                                 .privacy = privacy,
                                                                 .ways = ways,
                                                                 .bytes = size,
                                                                 .reply_room = room};
    else
        *(struct args_peer_call *)args = (struct args_peer_call){
            .peer = peer->number, .privacy = privacy, .bytes = size, .reply_room = room};
    memcpy((uint8_t *)args + head, offer, sizeof(*offer));
    memcpy((uint8_t *)args + head + sizeof(*offer), name, strlen(name));
    *met = (struct wire_peer_met){.way = "tcp"};
    CUresult result = call_wait_bytes(&call, NULL, 0, met, room, &used);
    met->refusal[sizeof(met->refusal) - 1] = '\0';
    met->way[sizeof(met->way) - 1] = met->reason[sizeof(met->reason) - 1] = '\0';
    if (!*met->refusal && *offer->refusal)
        memcpy(met->refusal, offer->refusal, sizeof(met->refusal));
    return result;
}

static CUresult ask_whether_it_stands(const struct peer *peer, struct box_session *session)
{
    struct call call = {.session = session, .op = OP_peer_stands};
    struct args_peer_stands *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return call.result;
    args->peer = peer->number;
    return call_wait(&call, NULL, 0);
}

static CUresult ask_relay(const struct peer *peer, struct box_session *session, const char *why)
{
    struct call call = {.session = session, .op = OP_peer_relay};
    struct args_peer_relay *args = call_reserve(&call, sizeof(*args) + strlen(why));
    if (!args)
        return call.result;
    *args = (struct args_peer_relay){.peer = peer->number, .bytes = (uint32_t)strlen(why)};
    memcpy(args + 1, why, strlen(why));
    return call_wait(&call, NULL, 0);
}

static CUresult check_release(const struct box_session *session)
{
    if (session_knows(session, OP_peer_offer))
        return CUDA_SUCCESS;
    log_error("box %s is of release %s, which does not copy between boxes: upgrade it",
              session->box, session->release);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_private(const struct box_session *session)
{
    return session->protection == CONTROL_PROTECTION_PRIVACY;
}

// The values of RGPU_PEER_LINK.
static const struct link_wish {
    const char *name;
    bool client; // data pass through this process
    uint32_t ways;
} wishes[] = {{"auto", false, PEER_WAYS_ALL},
              {"shm", false, PEER_WAY_SHM},
              {"rdma", false, PEER_WAY_RDMA},
              {"tcp", false, 0},
              {"client", true, 0}};

static const struct link_wish *wish(void)
{
    const char *text = secure_getenv("RGPU_PEER_LINK");
    for (size_t i = 0; text && i < sizeof(wishes) / sizeof(wishes[0]); i++)
        if (!strcmp(text, wishes[i].name))
            return &wishes[i];
    if (text)
        log_warn("RGPU_PEER_LINK=%s is not one of auto, shm, rdma, tcp, client", text);
    return &wishes[0];
}

static bool know_ways(const struct box_session *a, const struct box_session *b)
{
    return session_knows(a, OP_peer_meet) && session_knows(b, OP_peer_meet);
}

// Connects the two ends directly or, if that is not possible, through this process.
static CUresult connect_ends(struct peer *peer)
{
    struct box_session *caller = peer->ends[0], *called = peer->ends[1];
    bool privacy = is_private(caller) || is_private(called);
    const struct link_wish *wished = wish();
    uint32_t ways = know_ways(caller, called) ? wished->ways : 0;
    struct wire_peer_offer offer = {0};
    struct wire_peer_met met = {0};
    char *why = met.refusal;
    CUresult result = ask_offer(peer, called, privacy, ways, &offer);
    if (wished->client)
        snprintf(offer.refusal, sizeof(offer.refusal), "RGPU_PEER_LINK=client");
    if (result == CUDA_SUCCESS)
        result = ask_call(peer, caller, privacy, ways, &offer, &met);
    explicit_bzero(&offer, sizeof(offer));
    if (result != CUDA_SUCCESS)
        return result;
    if (!*why && ask_whether_it_stands(peer, called) != CUDA_SUCCESS)
        snprintf(why, sizeof(met.refusal), "the called box does not see the connection");
    peer->direct = !*why;
    log_info("copies between boxes from=%s to=%s by=%s reason=\"%s\"", caller->box, called->box,
             peer->direct ? met.way : "client", peer->direct ? met.reason : why);
    if (peer->direct)
        return CUDA_SUCCESS;
    result = ask_relay(peer, caller, why);
    return result == CUDA_SUCCESS ? ask_relay(peer, called, why) : result;
}

static void close_both(const struct peer *peer, CUresult result)
{
    const struct wire_peer_frame closed = {.peer = peer->number, .result = (int32_t)result};
    SCOPED_LOCK(&lock);
    for (int i = 0; i < 2; i++)
        pass(peer->ends[i], &closed, NULL);
}

static CUresult open_peer(struct peer *peer, struct box_session *a, struct box_session *b)
{
    *peer = (struct peer){.number = ++last_number, .ends = {a, b}};
    pthread_mutex_init(&peer->asking, NULL);
    CUresult result = check_release(a);
    if (result == CUDA_SUCCESS)
        result = check_release(b);
    if (result != CUDA_SUCCESS)
        return result;
    result = connect_ends(peer);
    if (result != CUDA_SUCCESS)
        close_both(peer, result);
    return result;
}

// Gives up a link that is down although its sessions live. No copy over it is requested after that.
static bool peers_retire(struct peer *peer)
{
    if (session_lost(peer->ends[0]) != CUDA_SUCCESS || session_lost(peer->ends[1]) != CUDA_SUCCESS)
        return false;
    {
        SCOPED_LOCK(&peer->asking);
        peer->retired = true;
        close_both(peer, peer->lost);
    }
    windows_forget_link(peer->number);
    return true;
}

static CUresult get_peer(struct box_session *a, struct box_session *b, struct peer **out)
{
    session_take_pending(a);
    session_take_pending(b);
    SCOPED_LOCK(&opening);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    struct peer *peer = *out = find_between(a, b);
    if (peer && (peer->lost == CUDA_SUCCESS || !peers_retire(peer)))
        return CUDA_SUCCESS;
    peer = malloc(sizeof(*peer));
    if (peer && (result = open_peer(peer, a, b)) == CUDA_SUCCESS) {
        SCOPED_LOCK(&lock);
        peer->next = peers;
        peers = *out = peer;
        return CUDA_SUCCESS;
    }
    free(peer);
    return result;
}

static struct peer *peers_find(uint32_t number)
{
    struct peer *peer = peers;
    while (peer && peer->number != number)
        peer = peer->next;
    return peer;
}

// ---- copies ----

// Requests the copy from the box without the stream first. The other box does not begin before
// that one has sent it a message.
static CUresult ask_both(struct peer *peer, const struct peer_copy *copy, CUstream stream,
                         const struct object *waiting)
{
    bool sends = copy->from.context->session == waiting->session;
    const struct peer_side *own = sends ? &copy->from : &copy->to;
    const struct peer_side *other = sends ? &copy->to : &copy->from;
    uint64_t job = ++peer->last_job;
    CUresult result = remote_peer_join(peer->number, !sends, job,
                                       (CUcontext)(uintptr_t)other->context->handle, other->address,
                                       other->pitch, other->slice, copy->width, copy->height,
                                       copy->depth);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_peer_copy(peer->number, sends, job, waiting->handle,
                              (CUcontext)(uintptr_t)own->context->handle, own->address, own->pitch,
                              own->slice, copy->width, copy->height, copy->depth, stream);
    if (result != CUDA_SUCCESS) {
        const struct wire_peer_frame failed = {
            .peer = peer->number, .kind = PEER_FAILED, .job = job, .result = (int32_t)result};
        SCOPED_LOCK(&lock);
        pass(other->context->session, &failed, NULL);
    }
    return result;
}

static CUresult peers_settle(const struct peer *peer, struct box_session *session, uint64_t job)
{
    struct call call = {.session = session, .op = OP_peer_settle};
    struct args_peer_settle *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return call.result;
    *args = (struct args_peer_settle){.peer = peer->number, .job = job};
    return call_wait(&call, NULL, 0);
}

CUresult peers_copy(const struct peer_copy *copy, CUstream stream, const struct object *waiting)
{
    struct box_session *from = copy->from.context->session, *to = copy->to.context->session;
    struct peer *peer;
    CUresult result = get_peer(from, to, &peer);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&peer->asking);
    // Another thread may have given up the link; then neither end knows its number.
    if (peer->lost != CUDA_SUCCESS || peer->retired)
        return peer->lost;
    peers_count(peer, waiting->session, 1);
    result = ask_both(peer, copy, stream, waiting);
    link_flush(from->link);
    link_flush(to->link);
    if (result != CUDA_SUCCESS)
        peers_count(peer, waiting->session, -1);
    else if (peer->last_job % SETTLE_EVERY == 0 && peer->last_job > SETTLE_EVERY)
        result = peers_settle(peer, waiting->session, peer->last_job - SETTLE_EVERY);
    return result;
}

uint64_t peer_side_extent(const struct peer_side *side, const struct peer_copy *copy)
{
    return (copy->depth - 1) * side->slice + (copy->height - 1) * side->pitch + copy->width;
}

uint64_t peers_reach(struct peer_copy *copy, const struct object *waiting)
{
    struct box_session *from = copy->from.context->session, *to = copy->to.context->session;
    struct peer_side *other = from == waiting->session ? &copy->to : &copy->from;
    struct peer *peer;
    return get_peer(from, to, &peer) == CUDA_SUCCESS && peer->lost == CUDA_SUCCESS
               ? windows_reach(peer->number, waiting, other->address, &other->address)
               : 0;
}

// ---- frames that other boxes send over a link ----

CUresult peers_hold(struct box_session *a, struct box_session *b, uint32_t *number)
{
    struct peer *peer;
    CUresult result = get_peer(a, b, &peer);
    if (result == CUDA_SUCCESS)
        result = peer->lost;
    if (result != CUDA_SUCCESS)
        return result;
    peers_count(peer, peer->ends[0], 1);
    *number = peer->number;
    return CUDA_SUCCESS;
}

void peers_release(uint32_t number)
{
    struct peer *peer;
    {
        SCOPED_LOCK(&lock);
        peer = peers_find(number);
    }
    if (peer)
        peers_count(peer, peer->ends[0], -1);
}

// ---- events ----

void peers_frame(struct box_session *session, const struct wire_peer_frame *frame, void *payload)
{
    bool taken = false;
    {
        SCOPED_LOCK(&lock);
        struct peer *peer = peers_find(frame->peer);
        if (peer && has_end(peer, session))
            taken = pass(other_end(peer, session), frame, payload);
        else
            free(payload);
    }
    if (!taken)
        session_fail(
            session, CUDA_ERROR_DEVICE_UNAVAILABLE,
            "it speaks to another box without having been asked to, or memory has run out");
}

static struct peer *find_locked(uint32_t number, const struct box_session *session)
{
    SCOPED_LOCK(&lock);
    struct peer *peer = peers_find(number);
    return peer && has_end(peer, session) ? peer : NULL;
}

// Fails the context of the copy's stream: later work there would compute with data that are
// missing.
static void peers_fail_context(const struct peer *peer, struct box_session *session,
                               const struct wire_peer_over *over)
{
    struct object *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)over->waiting);
    int fine = 0;
    log_error("a copy between boxes has failed; the context of its stream fails box=%s other=%s "
              "result=%d",
              session->box, other_end(peer, session)->box, (int)over->result);
    if (context && context->session == session)
        atomic_compare_exchange_strong(&context->ctx.sticky, &fine, (int)over->result);
}

static void note_loss(struct peer *peer, struct box_session *session, CUresult result)
{
    SCOPED_LOCK(&lock);
    if (peer->lost == CUDA_SUCCESS)
        log_error(
            "a copy between boxes has failed or will, since their link is down box=%s other=%s "
            "result=%d",
            session->box, other_end(peer, session)->box, (int)result);
    peer->lost = result;
}

void peers_over(struct box_session *session, const struct wire_peer_over *over)
{
    struct peer *peer = find_locked(over->peer, session);
    if (!peer) {
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE,
                     "the end of a copy between boxes that was not asked for");
        return;
    }
    if (!over->job) {
        note_loss(peer, session, (CUresult)over->result);
        return;
    }
    if (over->result)
        peers_fail_context(peer, session, over);
    peers_count(peer, session, -1);
}

void peers_lost(struct box_session *session)
{
    const CUresult result = session_lost(session);
    SCOPED_LOCK(&lock);
    for (struct peer *peer = peers; peer; peer = peer->next) {
        const struct wire_peer_frame lost = {.peer = peer->number, .result = (int32_t)result};
        if (!has_end(peer, session) || peer->lost != CUDA_SUCCESS)
            continue;
        struct box_session *other = other_end(peer, session);
        peer->lost = result;
        pass(other, &lost, NULL);
        // The ends of these copies will not be reported.
        session_expect(other, -(int)peer->under_way[peer->ends[1] == session]);
    }
}

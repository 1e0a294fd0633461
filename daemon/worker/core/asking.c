// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/asking.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

// A thread that waits for an answer; it lies on that thread's stack.
struct asking {
    uint32_t request;
    bool answered;
    bool lost; // the supervisor that was asked is gone, and another one is there
    union {
        struct control_exported shared;
        struct control_redeemed redeemed;
        struct control_peer_expected expected;
        struct control_peer_called called;
        struct control_window_taken taken;
        struct control_quota_reply quota;
    };
    int fd;
    struct asking *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct asking *asking; // under lock
static uint32_t last_request;
static struct asking_quota quota; // under lock

static void asking_begin(struct asking *mine)
{
    SCOPED_LOCK(&lock);
    mine->request = ++last_request;
    mine->next = asking;
    asking = mine;
}

static void asking_take_off(const struct asking *mine)
{
    struct asking **at = &asking;

    while (*at != mine)
        at = &(*at)->next;
    *at = mine->next;
}

// Returns false if another supervisor must be asked. The process ends if none comes, so an answer
// comes or no thread waits any more.
static bool asking_await(struct asking *mine)
{
    SCOPED_LOCK(&lock);
    while (!mine->answered && !mine->lost)
        pthread_cond_wait(&changed, &lock);
    mine->lost = false;
    if (mine->answered)
        asking_take_off(mine);
    return mine->answered;
}

static CUresult asking_give_up(const struct asking *mine, int err)
{
    SCOPED_LOCK(&lock);
    asking_take_off(mine);
    log_error("the supervisor cannot be asked error=\"%s\"", strerror(-err));
    return CUDA_ERROR_SYSTEM_NOT_READY;
}

// Sends the REQUEST that carries MINE's number, and waits for its answer.
static CUresult asking_ask(struct asking *mine, enum control_message_type type, const void *request,
                           int fd)
{
    do {
        int err = control_send_packet(session.control, type, request, fd);
        if (err)
            return asking_give_up(mine, err);
    } while (!asking_await(mine));
    return CUDA_SUCCESS;
}

void asking_again(void)
{
    SCOPED_LOCK(&lock);
    for (struct asking *at = asking; at; at = at->next)
        at->lost = !at->answered;
    pthread_cond_broadcast(&changed);
}

static CUresult result_of(enum control_export_failure failure)
{
    switch (failure) {
    case CONTROL_EXPORT_FAILURE_NONE: return CUDA_SUCCESS;
    case CONTROL_EXPORT_FAILURE_UNKNOWN: return CUDA_ERROR_INVALID_HANDLE;
    case CONTROL_EXPORT_FAILURE_DEVICE: return CUDA_ERROR_INVALID_DEVICE;
    case CONTROL_EXPORT_FAILURE_OWN: return CUDA_ERROR_INVALID_CONTEXT;
    case CONTROL_EXPORT_FAILURE_NO_ROOM: break;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ask_share(struct control_export *share, int fd, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct asking mine = {.fd = -1};

    asking_begin(&mine);
    share->request = mine.request;
    share->device = gpus.list[share->device].number;
    CUresult result = asking_ask(&mine, CONTROL_EXPORT, share, fd);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(token, mine.shared.token, CONTROL_EXPORT_TOKEN_BYTES);
    return result_of(mine.shared.failure);
}

CUresult ask_redeem(enum control_export_kind kind, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES],
                    struct control_redeemed *redeemed, int *fd)
{
    struct asking mine = {.fd = -1};
    struct control_redeem redeem = {.kind = kind};

    asking_begin(&mine);
    redeem.request = mine.request;
    memcpy(redeem.token, token, CONTROL_EXPORT_TOKEN_BYTES);
    CUresult result = asking_ask(&mine, CONTROL_REDEEM, &redeem, -1);
    if (result != CUDA_SUCCESS)
        return result;
    *redeemed = mine.redeemed;
    *fd = mine.fd;
    int place = mine.redeemed.failure ? 0 : gpu_place_of(redeemed->device);
    redeemed->device = (uint32_t)place;
    return place < 0 ? CUDA_ERROR_INVALID_DEVICE : result_of(mine.redeemed.failure);
}

void ask_no_more(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES], bool exported)
{
    struct control_export_end end = {.exported = exported};

    memcpy(end.token, token, CONTROL_EXPORT_TOKEN_BYTES);
    if (control_send_packet(session.control, CONTROL_EXPORT_END, &end, -1))
        log_debug("the end of shared memory was not taken");
}

CUresult ask_expect(const uint8_t token[CONTROL_TOKEN_BYTES], uint32_t *number,
                    struct control_peer_expected *answer)
{
    struct asking mine = {.fd = -1};
    struct control_peer_expect expect;

    asking_begin(&mine);
    expect.request = *number = mine.request;
    memcpy(expect.token, token, sizeof(expect.token));
    CUresult result = asking_ask(&mine, CONTROL_PEER_EXPECT, &expect, -1);
    explicit_bzero(&expect, sizeof(expect));
    if (result != CUDA_SUCCESS)
        return result;
    *answer = mine.expected;
    return CUDA_SUCCESS;
}

static CUresult ask_connection(struct asking *mine, enum control_message_type type,
                               const void *request, struct control_peer_called *answer, int *fd)
{
    CUresult result = asking_ask(mine, type, request, -1);

    if (result != CUDA_SUCCESS)
        return result;
    *answer = mine->called;
    *fd = mine->fd;
    return CUDA_SUCCESS;
}

CUresult ask_call(struct control_peer_call *call, struct control_peer_called *answer, int *fd)
{
    struct asking mine = {.fd = -1};

    asking_begin(&mine);
    call->request = mine.request;
    return ask_connection(&mine, CONTROL_PEER_CALL, call, answer, fd);
}

int ask_reach(const char *name)
{
    struct asking mine = {.fd = -1};
    struct control_peer_called answer;
    struct control_peer_reach reach;
    int fd = -1;

    asking_begin(&mine);
    reach.request = mine.request;
    snprintf(reach.name, sizeof(reach.name), "%s", name);
    CUresult result = ask_connection(&mine, CONTROL_PEER_REACH, &reach, &answer, &fd);
    if (result == CUDA_SUCCESS && fd < 0)
        log_debug("another worker's socket is not reached reason=\"%s\"", answer.refusal);
    return fd < 0 ? -ECONNREFUSED : fd;
}

CUresult ask_window_room(uint64_t size, uint64_t *place)
{
    struct asking mine = {.fd = -1};
    struct control_window_take take = {.size = size};

    asking_begin(&mine);
    take.request = mine.request;
    CUresult result = asking_ask(&mine, CONTROL_WINDOW_TAKE, &take, -1);
    if (result != CUDA_SUCCESS)
        return result;
    *place = mine.taken.place;
    return mine.taken.size ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void ask_window_no_more(uint64_t place)
{
    struct control_window_give give = {.place = place};

    if (control_send_packet(session.control, CONTROL_WINDOW_GIVE, &give, -1))
        log_debug("the end of a part of the window was not taken");
}

static void asking_count_quota(int requests, uint64_t bytes)
{
    SCOPED_LOCK(&lock);
    quota.requests += (unsigned)requests;
    quota.bytes += (uint64_t)requests * bytes;
}

struct asking_quota asking_quota(void)
{
    SCOPED_LOCK(&lock);
    return quota;
}

CUresult ask_quota(unsigned device, uint64_t bytes)
{
    struct asking mine = {.fd = -1};
    struct control_quota_request wanted = {.device = device, .bytes = bytes};

    asking_begin(&mine);
    wanted.request = mine.request;
    asking_count_quota(1, bytes);
    CUresult result = asking_ask(&mine, CONTROL_QUOTA_REQUEST, &wanted, -1);
    asking_count_quota(-1, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    return mine.quota.given ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// Under lock.
static struct asking *asking_find(uint32_t request)
{
    struct asking *at = asking;

    while (at && at->request != request)
        at = at->next;
    return at;
}

bool asking_is_answer(enum control_message_type type)
{
    return type == CONTROL_EXPORTED || type == CONTROL_REDEEMED || type == CONTROL_PEER_EXPECTED ||
           type == CONTROL_PEER_CALLED || type == CONTROL_WINDOW_TAKEN ||
           type == CONTROL_QUOTA_REPLY;
}

static uint32_t asking_request_of(enum control_message_type type,
                                  const union control_message *message)
{
    return type == CONTROL_EXPORTED        ? message->exported.request
           : type == CONTROL_REDEEMED      ? message->redeemed.request
           : type == CONTROL_PEER_EXPECTED ? message->peer_expected.request
           : type == CONTROL_WINDOW_TAKEN  ? message->window_taken.request
           : type == CONTROL_QUOTA_REPLY   ? message->quota_reply.request
                                           : message->peer_called.request;
}

static void keep_answer(struct asking *asker, enum control_message_type type,
                        const union control_message *message)
{
    if (type == CONTROL_EXPORTED)
        asker->shared = message->exported;
    else if (type == CONTROL_REDEEMED)
        asker->redeemed = message->redeemed;
    else if (type == CONTROL_PEER_EXPECTED)
        asker->expected = message->peer_expected;
    else if (type == CONTROL_WINDOW_TAKEN)
        asker->taken = message->window_taken;
    else if (type == CONTROL_QUOTA_REPLY)
        asker->quota = message->quota_reply;
    else
        asker->called = message->peer_called;
}

int asking_answered(const struct control_frame *frame, int fd)
{
    enum control_message_type type = frame->header.type;
    SCOPED_FREE union control_message *message = malloc(sizeof(*message));
    SCOPED_FD int passed = fd;
    int err = message ? control_decode(frame, type, message) : -ENOMEM;

    if (err)
        return err;
    SCOPED_LOCK(&lock);
    struct asking *asker = asking_find(asking_request_of(type, message));
    // A question that was put again may be answered twice.
    if (!asker || asker->answered)
        return 0;
    keep_answer(asker, type, message);
    asker->fd = scoped_take_fd(&passed);
    asker->answered = true;
    pthread_cond_broadcast(&changed);
    return 0;
}

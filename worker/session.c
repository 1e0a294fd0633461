// SPDX-License-Identifier: BSD-3-Clause
// One client's session: what it was granted, the choice of the transport, the watch over both
// connections, and the end, which takes the whole process with it so that the GPU's memory is free
// at once.
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/ledger.h"
#include "common/log.h"
#include "worker/setup.h"
#include "worker/worker.h"

enum {
    CHOICE_TIMEOUT_MS = 30000, // for the client to say its transport
    SHM_TIMEOUT_MS = 5000,
    RDMA_TIMEOUT_MS = 20000, // which a client that gives up earlier ends by what it says next
    REPORT_INTERVAL_MS = 1000,
    IDLE_INTERVAL_MS = 5000,   // after a second in which nothing changed
    FAREWELL_MS = 100,         // for the last words to a client
    LAST_WORD_MS = 20,
};

struct session session;

static int control = -1;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

// ---- statistics and the end ----

static struct control_stats statistics(void)
{
    struct control_stats stats = {
        .transport = session.transport,
        .calls = atomic_load(&session.calls),
        .memory = allocation_total(),
    };

    snprintf(stats.reason, sizeof(stats.reason), "%s", session.transport_reason);
    if (session.link)
        link_bytes(session.link, &stats.bytes_out, &stats.bytes_in);
    return stats;
}

bool session_report(void)
{
    static struct control_stats last;
    bool changed = false;

    pthread_mutex_lock(&report_lock);
    struct control_stats now = statistics();
    if (memcmp(&now, &last, sizeof(now)) != 0) {
        changed = true;
        last = now;
        // The supervisor being away shows as the end of its socket.
        if (control_send_packet(control, CONTROL_STATS, &now, -1))
            log_debug("statistics were not taken");
    }
    pthread_mutex_unlock(&report_lock);
    return changed;
}

void session_end(enum control_end_reason reason, const char *format, ...)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    struct control_ended ended = {.reason = reason};
    va_list args;

    if (atomic_flag_test_and_set(&ending))
        for (;;)
            pause();
    va_start(args, format);
    vsnprintf(ended.text, sizeof(ended.text), format, args);
    va_end(args);
    // Control characters have no place in a control message.
    for (char *c = ended.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    if (session.reaches_memory)
        log_info("copies gpudirect=%llu staged=%llu",
                 (unsigned long long)atomic_load(&session.direct_moves),
                 (unsigned long long)atomic_load(&session.staged_moves));
    if (reason == CONTROL_END_REASON_CLIENT_LEFT || reason == CONTROL_END_REASON_SHUTDOWN)
        log_info("session ends reason=\"%s\"", ended.text);
    else
        log_warn("session ends reason=\"%s\"", ended.text);
    session_report();
    if (control_send_packet(control, CONTROL_ENDED, &ended, -1))
        log_debug("the end was not taken");
    // No clean-up: a kernel that hangs must not keep us, and the driver frees what a process held.
    _exit(0);
}

static void *say_farewell(void *text)
{
    event_send(EVENT_ENDING, text, (uint32_t)strlen(text) + 1, (uint32_t)strlen(text) + 1);
    return NULL;
}

// The client may not be reading any more, so that telling it must not take long.
static void end_by_order(const struct control_end *end)
{
    static char text[sizeof(end->text)];
    struct timespec deadline;
    pthread_t thread;

    snprintf(text, sizeof(text), "%s", end->text);
    if (session.link && !pthread_create(&thread, NULL, say_farewell, text)) {
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_nsec += FAREWELL_MS * 1000000L;
        deadline.tv_sec += deadline.tv_nsec / 1000000000L;
        deadline.tv_nsec %= 1000000000L;
        pthread_timedjoin_np(thread, NULL, &deadline);
    }
    session_end(end->reason, "%s", end->text);
}

// ---- the grant ----

int session_device_of(CUdevice handle)
{
    for (int i = 0; i < devices.count; i++)
        if (devices.list[i].present && devices.list[i].handle == handle)
            return i;
    return 0;
}

int session_open_account(const struct control_grant *grant, int account_fd)
{
    if (account_fd < 0)
        return 0;
    int err = ledger_map(account_fd, &session.account);
    close(account_fd);
    if (err)
        return err;
    session.account_line = ledger_find_line(session.account, grant->session);
    return session.account_line < 0 ? session.account_line : 0;
}

static int take_grant(const struct control_grant *grant)
{
    session.id = grant->session;
    session.lease_budget = grant->lease_budget;
    session.budgeted = grant->lease_budget != 0;
    for (uint32_t i = 0; i < grant->devices_count; i++) {
        uint32_t ordinal = grant->devices[i].ordinal;
        if (ordinal >= (uint32_t)devices.count || !devices.list[ordinal].present)
            return -ENODEV;
        devices.list[ordinal].budget = grant->devices[i].budget;
        session.budgeted |= grant->devices[i].budget != 0;
        session.ordinals[session.device_count++] = (int)ordinal;
    }
    session.handles = handle_table_new(0);
    session.notes = mmap(NULL, HANDLE_INDEX_LIMIT * sizeof(*session.notes),
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!session.handles || session.notes == MAP_FAILED)
        return -ENOMEM;
    return 0;
}

// ---- the choice of the transport ----

struct offer {
    struct control_stream stream;
    enum control_protection protection;
    uint32_t allowed; // bits of enum control_transport
    uint8_t token[CONTROL_TOKEN_BYTES];
    uint8_t rdma_token[CONTROL_TOKEN_BYTES];
    struct link_options options;
};

// Made before the worker is confined, which takes the making of sockets away; -1: none, or not offered.
static int shm_listener = -1;
static char shm_name[64];

int session_listen(void)
{
    return shm_listen(shm_name, sizeof(shm_name), &shm_listener);
}

static void withdraw_shm(void)
{
    if (shm_listener >= 0)
        close(shm_listener);
    shm_listener = -1;
}

static void offer_shm(struct offer *offer, const struct control_grant *grant,
                      struct control_welcome *welcome)
{
    static const uint8_t unknown[CONTROL_BOOT_ID_BYTES];

    if (!(offer->allowed & 1u << CONTROL_TRANSPORT_SHM) ||
        control_boot_id(welcome->boot_id) ||
        !memcmp(grant->client_boot_id, unknown, sizeof(unknown)) ||
        memcmp(grant->client_boot_id, welcome->boot_id, sizeof(unknown)) != 0 ||
        getrandom(offer->token, sizeof(offer->token), 0) != (ssize_t)sizeof(offer->token)) {
        withdraw_shm();
        return;
    }
    snprintf(welcome->shm_socket, sizeof(welcome->shm_socket), "%s", shm_name);
    memcpy(welcome->shm_token, offer->token, sizeof(welcome->shm_token));
}

static void offer_rdma(struct offer *offer, struct control_welcome *welcome)
{
    if (offer->protection == CONTROL_PROTECTION_PRIVACY &&
        offer->allowed & 1u << CONTROL_TRANSPORT_RDMA) {
        offer->allowed &= ~(1u << CONTROL_TRANSPORT_RDMA);
        log_info("no rdma reason=\"protection=privacy, and RDMA sends data as they are\"");
    }
    if (!(offer->allowed & 1u << CONTROL_TRANSPORT_RDMA))
        rdma_listener_free(&rdma_listener);
    else if (!rdma_listener)
        fabric_prepare_again();
    if (!rdma_listener ||
        getrandom(offer->rdma_token, sizeof(offer->rdma_token), 0) !=
            (ssize_t)sizeof(offer->rdma_token))
        return;
    memcpy(welcome->rdma_token, offer->rdma_token, sizeof(welcome->rdma_token));
    snprintf(welcome->rdma_address, sizeof(welcome->rdma_address), "%s",
             rdma_listener_address(rdma_listener));
    welcome->rdma_port = rdma_listener_port(rdma_listener);
}

static int give_secret(void *opaque, const void *identity, size_t size,
                       uint8_t key[TLS_SECRET_BYTES])
{
    const struct control_grant *grant = opaque;

    memcpy(key, grant->secret, TLS_SECRET_BYTES);
    return 0;
}

// The client and the supervisor have proved themselves to each other; the secret that they share
// since then is what the supervisor passed on.
static int meet_client(struct offer *offer, struct control_grant *grant)
{
    if (grant->protection == CONTROL_PROTECTION_NONE)
        return 0;
    int err = tls_server(offer->stream.fd, give_secret, grant,
                         grant->protection == CONTROL_PROTECTION_PRIVACY, &offer->stream.tls);
    if (!err)
        err = control_secure(&offer->stream, control_now_ms() + CHOICE_TIMEOUT_MS);
    explicit_bzero(grant->secret, sizeof(grant->secret));
    return err;
}

static int send_welcome(struct offer *offer, const struct control_grant *grant)
{
    struct control_welcome welcome = {.version = grant->version, .session = grant->session};
    size_t size = 0;
    void *snapshot = snapshot_make(session.ordinals, session.device_count, &size);

    if (!snapshot)
        return -ENOMEM;
    control_boot_id(welcome.boot_id);
    offer_shm(offer, grant, &welcome);
    offer_rdma(offer, &welcome);
    welcome.snapshot = snapshot;
    welcome.snapshot_size = (uint32_t)size;
    int err = control_send(&offer->stream, CONTROL_WELCOME, &welcome,
                           control_now_ms() + CHOICE_TIMEOUT_MS);
    free(snapshot);
    return err;
}

// The client that proposed shm connects now. It says that it cannot by proposing something else.
static int accept_shm(struct offer *offer, int client_fd)
{
    int err = link_shm_accept(shm_listener, offer->token, &pinned.shm, client_fd,
                              SHM_TIMEOUT_MS, &offer->options, &session.link);

    withdraw_shm();
    if (err)
        log_info("shared memory was agreed on but not connected error=\"%s\"", strerror(-err));
    return err;
}

static int accept_rdma(struct offer *offer, int client_fd)
{
    int err = link_rdma_accept(&rdma_listener, offer->rdma_token, client_fd, RDMA_TIMEOUT_MS,
                               &offer->options, &session.link);

    if (err) {
        log_info("rdma was agreed on but not connected error=\"%s\"", strerror(-err));
        return err;
    }
    size_t used = strlen(session.transport_reason);
    snprintf(session.transport_reason + used, sizeof(session.transport_reason) - used, ", ");
    used = strlen(session.transport_reason);
    link_rdma_describe(session.link, session.transport_reason + used,
                       sizeof(session.transport_reason) - used);
    return 0;
}

static bool agree(const struct offer *offer, enum control_transport transport,
                  struct control_transport_reply *reply)
{
    const char *why_not = NULL;

    switch (transport) {
    case CONTROL_TRANSPORT_TCP:
        why_not = offer->allowed & 1u << CONTROL_TRANSPORT_TCP ? NULL : "not allowed on this box";
        break;
    case CONTROL_TRANSPORT_SHM:
        why_not = shm_listener >= 0 ? NULL : "not offered";
        break;
    case CONTROL_TRANSPORT_RDMA:
        why_not = rdma_listener ? NULL : "not offered";
        break;
    case CONTROL_TRANSPORT_LOOP:
    case CONTROL_TRANSPORT_AUTOMATIC:
        why_not = "not offered";
        break;
    }
    reply->accepted = !why_not;
    snprintf(reply->text, sizeof(reply->text), "%s", why_not ? why_not : "");
    return !why_not;
}

// Where the data are not to be protected TLS ends, and plain records follow on the same connection.
static int open_tcp(struct offer *offer, int64_t deadline)
{
    if (offer->stream.tls && offer->protection != CONTROL_PROTECTION_PRIVACY) {
        int err = control_end_tls(&offer->stream, deadline);
        if (err)
            return err;
    }
    bool in_kernel = offer->stream.tls && tls_in_kernel(offer->stream.tls);
    int err = link_tcp_open(offer->stream.fd, offer->stream.tls, &offer->options, &session.link);
    if (!err && offer->stream.tls)
        log_info("data are encrypted by=%s", in_kernel ? "kernel" : "worker");
    if (!err)
        offer->stream.tls = NULL;
    return err;
}

// One proposal of the client: 1 with the link open, 0 where another one is to come, -errno.
static int take_proposal(struct offer *offer, int64_t deadline)
{
    struct control_transport_proposal proposal;
    struct control_transport_reply reply = {0};
    struct control_frame frame = {0};
    int err = control_receive(&offer->stream, &frame, deadline);

    if (!err)
        err = control_decode(&frame, CONTROL_TRANSPORT_PROPOSAL, &proposal);
    control_frame_free(&frame);
    if (err)
        return err;
    bool agreed = agree(offer, proposal.transport, &reply);
    err = control_send(&offer->stream, CONTROL_TRANSPORT_REPLY, &reply, deadline);
    if (err || !agreed)
        return err;
    session.transport = proposal.transport;
    snprintf(session.transport_reason, sizeof(session.transport_reason), "%s", proposal.reason);
    if (proposal.transport == CONTROL_TRANSPORT_SHM)
        return accept_shm(offer, offer->stream.fd) ? 0 : 1;
    if (proposal.transport == CONTROL_TRANSPORT_RDMA)
        return accept_rdma(offer, offer->stream.fd) ? 0 : 1;
    err = open_tcp(offer, deadline);
    return err ? err : 1;
}

static int choose_transport(struct offer *offer)
{
    int64_t deadline = control_now_ms() + CHOICE_TIMEOUT_MS;

    for (;;) {
        struct pollfd fds[] = {{.fd = offer->stream.fd, .events = POLLIN},
                               {.fd = control, .events = POLLIN}};
        int64_t left = deadline - control_now_ms();
        int n = left > 0 ? poll(fds, 2, (int)left) : 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -ETIMEDOUT;
        if (n > 0 && fds[1].revents)
            session_end(CONTROL_END_REASON_SHUTDOWN, "the supervisor ended the session");
        int opened = n > 0 ? take_proposal(offer, deadline) : 0;
        if (opened < 0)
            return opened;
        if (opened)
            break;
    }
    tls_discard(&offer->stream.tls);
    withdraw_shm();
    rdma_listener_free(&rdma_listener);
    return 0;
}

// ---- running ----

static void take_order(void)
{
    struct control_frame frame = {0};
    struct control_end end = {.reason = CONTROL_END_REASON_SHUTDOWN};
    int passed = -1;
    int err = control_receive_packet(control, &frame, &passed);

    if (err == -EAGAIN)
        return;
    if (!err)
        err = control_decode(&frame, CONTROL_END, &end);
    if (err)
        snprintf(end.text, sizeof(end.text), "the supervisor is gone");
    end_by_order(&end);
}

static void watch(int client_fd)
{
    int interval = REPORT_INTERVAL_MS;

    for (;;) {
        struct pollfd fds[] = {{.fd = control, .events = POLLIN},
                               {.fd = client_fd, .events = POLLRDHUP}};
        int n = poll(fds, 2, interval);
        if (n < 0 && errno != EINTR)
            session_end(CONTROL_END_REASON_INTERNAL, "poll: %s", strerror(errno));
        if (n > 0 && fds[1].revents) {
            // The thread that reads may know better why the connection is down.
            poll(NULL, 0, LAST_WORD_MS);
            session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client is gone");
        }
        if (n > 0 && fds[0].revents)
            take_order();
        interval = session_report() ? REPORT_INTERVAL_MS : IDLE_INTERVAL_MS;
    }
}

void session_run(int control_fd, struct control_grant *grant, int client_fd)
{
    struct offer offer = {.stream.fd = client_fd,
                          .protection = grant->protection,
                          .allowed = grant->transports};
    char name[32];

    control = control_fd;
    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)grant->session);
    log_set_thread_context(name);
    log_info("serving client=\"%s\" devices=%u protection=%s", grant->client,
             grant->devices_count, control_protection_name(grant->protection));
    int err = take_grant(grant);
    if (err)
        session_end(CONTROL_END_REASON_INTERNAL, "the grant cannot be served: %s", strerror(-err));
    offer.options = (struct link_options){.spin_us = setup_spin_us(),
                                          .block_size = pinned.staging->block_size,
                                          .block_count = pinned.staging->block_count};
    err = meet_client(&offer, grant);
    if (!err)
        err = send_welcome(&offer, grant);
    if (!err)
        err = choose_transport(&offer);
    if (err == -ECONNRESET || err == -EPIPE)
        session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client left during the handshake");
    if (err)
        session_end(CONTROL_END_REASON_CLIENT_ERROR, "handshake failed: %s",
                    offer.stream.tls && *tls_problem(offer.stream.tls) ? tls_problem(offer.stream.tls)
                                                                       : strerror(-err));
    session.reaches_memory = link_reaches_memory(session.link);
    session.streams_bytes = !link_shares_memory(session.link) && !session.reaches_memory;
    log_info("transport=%s reason=\"%s\"", link_name(session.link), session.transport_reason);
    if (session.streams_bytes && (push_start() || pull_start()))
        session_end(CONTROL_END_REASON_INTERNAL, "no threads for transfers");
    if (session.reaches_memory && reach_start())
        session_end(CONTROL_END_REASON_INTERNAL, "no thread for transfers");
    session_report();
    dispatch_start();
    watch(client_fd);
    __builtin_unreachable();
}

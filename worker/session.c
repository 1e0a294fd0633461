// SPDX-License-Identifier: BSD-3-Clause
// One client's session: what it was granted, the meeting with the client, the watch over both connections,
// and the end, which takes the whole process with it so that the GPU's memory is free at once.
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/ledger.h"
#include "common/log.h"
#include "worker/welcome.h"
#include "worker/worker.h"

enum {
    MEETING_TIMEOUT_MS = 30000, // for the client to prove itself
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
        .calls = atomic_load(&session.calls),
        .memory = allocation_total(),
    };

    snprintf(stats.transport, sizeof(stats.transport), "%s", session.transport);
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

// ---- the client ----

static int give_secret(void *argument, const void *identity, size_t size,
                       uint8_t key[TLS_SECRET_BYTES])
{
    const struct control_grant *grant = argument;

    memcpy(key, grant->secret, TLS_SECRET_BYTES);
    return 0;
}

// The client and the supervisor have proved themselves to each other; the secret that they share
// since then is what the supervisor passed on.
static int meet_client(struct control_grant *grant, struct control_stream *stream)
{
    if (grant->protection == CONTROL_PROTECTION_NONE)
        return 0;
    int err = tls_server(stream->fd, give_secret, grant,
                         grant->protection == CONTROL_PROTECTION_PRIVACY, &stream->tls);
    if (!err)
        err = control_secure(stream, control_now_ms() + MEETING_TIMEOUT_MS);
    explicit_bzero(grant->secret, sizeof(grant->secret));
    return err;
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
    struct control_stream stream = {.fd = client_fd};
    char name[32];

    control = control_fd;
    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)grant->session);
    log_set_thread_context(name);
    log_info("serving client=\"%s\" devices=%u protection=%s", grant->client,
             grant->devices_count, control_protection_name(grant->protection));
    int err = take_grant(grant);
    if (err)
        session_end(CONTROL_END_REASON_INTERNAL, "the grant cannot be served: %s", strerror(-err));
    err = meet_client(grant, &stream);
    if (!err)
        err = welcome_client(control, grant, &stream);
    if (err == -ECONNRESET || err == -EPIPE)
        session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client left during the handshake");
    if (err)
        session_end(CONTROL_END_REASON_CLIENT_ERROR, "handshake failed: %s",
                    stream.tls && *tls_problem(stream.tls) ? tls_problem(stream.tls)
                                                           : strerror(-err));
    tls_discard(&stream.tls);
    session.reaches_memory = link_memory(session.link) == LINK_MEMORY_REACHED;
    session.streams_bytes = link_memory(session.link) == LINK_MEMORY_APART;
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

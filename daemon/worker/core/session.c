// SPDX-License-Identifier: BSD-3-Clause
// The end of a session ends the process, so that the GPU's memory is free at once.
#include "daemon/worker/core/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/service/ledger.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/mps_client_setup.h"

struct client_session session = {.control = -1, .window = -1};

static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

// ---- statistics and the end ----

static char links[1024], collectives[128]; // under report_lock

static struct control_stats statistics(void)
{
    struct control_stats stats = {
        .calls = atomic_load(&session.calls),
        .memory = gpus_used(),
    };

    snprintf(stats.transport, sizeof(stats.transport), "%s", session.transport);
    snprintf(stats.reason, sizeof(stats.reason), "%s", session.transport_reason);
    snprintf(stats.links, sizeof(stats.links), "%s%s%.890s", collectives,
             *collectives && *links ? "; " : "", links);
    stats.reconnecting = session.link && link_reconnecting(session.link);
    if (session.link)
        link_bytes(session.link, &stats.bytes_out, &stats.bytes_in);
    return stats;
}

void session_set_links(const char *text)
{
    SCOPED_LOCK(&report_lock);
    snprintf(links, sizeof(links), "%s", text);
}

void session_set_collectives(const char *text)
{
    SCOPED_LOCK(&report_lock);
    snprintf(collectives, sizeof(collectives), "%s", text);
}

static struct control_stats last_report; // under report_lock

bool session_report(void)
{
    bool changed = false;

    SCOPED_LOCK(&report_lock);
    struct control_stats now = statistics();
    if (memcmp(&now, &last_report, sizeof(now)) != 0) {
        changed = true;
        last_report = now;
        // The supervisor being away shows as the end of its socket.
        if (control_send_packet(session.control, CONTROL_STATS, &now, -1))
            log_debug("statistics were not taken");
    }
    return changed;
}

void session_report_anew(void)
{
    {
        SCOPED_LOCK(&report_lock);
        memset(&last_report, 0, sizeof(last_report));
    }
    session_report();
}

void session_keep_failure(int result)
{
    int none = 0;

    atomic_compare_exchange_strong(&session.deferred, &none, result);
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
    if (atomic_load(&session.direct_moves) || atomic_load(&session.staged_moves))
        log_info("copies gpudirect=%llu staged=%llu",
                 (unsigned long long)atomic_load(&session.direct_moves),
                 (unsigned long long)atomic_load(&session.staged_moves));
    if (reason == CONTROL_END_REASON_CLIENT_LEFT || reason == CONTROL_END_REASON_SHUTDOWN)
        log_info("session ends reason=\"%s\"", ended.text);
    else
        log_warn("session ends reason=\"%s\"", ended.text);
    session_report();
    if (control_send_packet(session.control, CONTROL_ENDED, &ended, -1))
        log_debug("the end was not taken");
    mps_client_finish();
    // No clean-up: a kernel that hangs must not keep us, and the driver frees what a process held.
    _exit(0);
}

// ---- the grant ----

int session_device_of(CUdevice handle)
{
    for (int i = 0; i < gpus.count; i++)
        if (gpus.list[i].present && gpus.list[i].handle == handle)
            return i;
    return 0;
}

int session_number_of(CUdevice handle)
{
    for (unsigned i = 0; i < session.device_count; i++)
        if (gpus.list[session.ordinals[i]].handle == handle)
            return (int)i;
    return -1;
}

int session_open_account(const struct control_grant *grant, const int account_fds[])
{
    if (account_fds[0] < 0)
        return 0;
    int err = ledger_map(account_fds, &session.account);
    for (int i = 0; i < LEDGER_FDS; i++)
        close(account_fds[i]);
    if (err)
        return err;
    session.throttle = ledger_throttle(session.account);
    session.account_line = ledger_find_line(session.account, grant->session);
    return session.account_line < 0 ? session.account_line : 0;
}

int session_take_grant(const struct control_grant *grant)
{
    session.privacy = grant->protection == CONTROL_PROTECTION_PRIVACY;
    session.id = grant->session;
    session.paths_forced = grant->forced_paths;
    session.budgeted = false;
    for (uint32_t i = 0; i < grant->devices_count; i++) {
        uint32_t ordinal = grant->devices[i].ordinal;
        if (ordinal >= (uint32_t)gpus.count || !gpus.list[ordinal].present)
            return -ENODEV;
        gpus.list[ordinal].budget = grant->devices[i].budget;
        struct gpu_identity *known_as = &gpus.list[ordinal].known_as;
        memcpy(known_as->uuid, grant->devices[i].uuid, sizeof(known_as->uuid));
        snprintf(known_as->pci, sizeof(known_as->pci), "%s", grant->devices[i].pci);
        session.budgeted |= grant->devices[i].budget != 0;
        session.ordinals[session.device_count++] = (int)ordinal;
    }
    session.handles = handle_table_new(0);
    session.notes = mmap(NULL, HANDLE_INDEX_LIMIT * sizeof(*session.notes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!session.handles || session.notes == MAP_FAILED)
        return -ENOMEM;
    return 0;
}

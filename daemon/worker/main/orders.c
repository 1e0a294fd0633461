// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/main/orders.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/control.h"
#include "common/service/ledger.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/execute/shared_events.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/peer/peer_direct.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/suspend/quiesce.h"
#include "daemon/worker/core/extra_connections.h"

enum { FAREWELL_MS = 500 }; // for the last words to a client

static void *say_farewell(void *text)
{
    event_send(EVENT_ENDING, text, (uint32_t)strlen(text) + 1, (uint32_t)strlen(text) + 1);
    return NULL;
}

// The client may not be reading any more, so that telling it must not take long.
static void end_by_order(const struct control_end *end)
{
    static char text[sizeof(end->text)];
    pthread_t thread;

    snprintf(text, sizeof(text), "%s", end->text);
    if (session.link && !pthread_create(&thread, NULL, say_farewell, text)) {
        struct timespec deadline = deadline_timespec(deadline_in(FAREWELL_MS));
        pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &deadline);
    }
    session_end(end->reason, "%s", end->text);
}

static int take_inheritance(const struct control_frame *frame)
{
    struct control_export_inherited inherited;
    int err = control_decode(frame, CONTROL_EXPORT_INHERITED, &inherited);

    int place = err ? -1 : gpu_place_of(inherited.device);
    if (!err && place < 0)
        err = -EPROTO;
    inherited.device = (uint32_t)place;
    if (!err)
        import_inherit(&inherited);
    if (!err && !inherited.charge)
        shared_events_orphaned(&inherited);
    return err;
}

// A connection of another box, or one more of the client.
static int take_caller(const struct control_frame *frame, int fd)
{
    struct control_peer_came came;
    int err = control_decode(frame, CONTROL_PEER_CAME, &came);

    if (!err && fd >= 0 && came.number >= CONTROL_EXTRA_NUMBER)
        extra_came(came.number - CONTROL_EXTRA_NUMBER, fd, came.secret);
    else if (!err && fd >= 0)
        peer_direct_came(&came, fd);
    explicit_bzero(&came, sizeof(came));
    return err ? err : fd < 0 ? -EPROTO : 0;
}

static int take_pause(const struct control_frame *frame)
{
    struct control_pause pause;
    int err = control_decode(frame, CONTROL_PAUSE, &pause);

    if (!err)
        quiesce_begin(pause.number);
    return err;
}

static int take_save(const struct control_frame *frame)
{
    struct control_save save;
    int err = control_decode(frame, CONTROL_SAVE, &save);

    if (!err)
        quiesce_take_save(save.number, save.timeout_ms);
    return err;
}

static int take_restore(const struct control_frame *frame)
{
    struct control_restore restore;
    int err = control_decode(frame, CONTROL_RESTORE, &restore);

    if (!err)
        quiesce_take_restore(restore.number);
    return err;
}

static int take_hold(const struct control_frame *frame)
{
    struct control_hold hold;
    int err = control_decode(frame, CONTROL_HOLD, &hold);

    if (!err)
        quiesce_hold(hold.held);
    return err;
}

static int take_move(const struct control_frame *frame)
{
    struct control_moved moved;
    uint32_t numbers[GPUS_MAX];
    int err = control_decode(frame, CONTROL_MOVED, &moved);

    if (!err && moved.gpus_count != session.device_count)
        err = -EPROTO;
    for (uint32_t i = 0; !err && i < moved.gpus_count; i++)
        numbers[i] = moved.gpus[i].ordinal;
    if (!err)
        budget_moved(numbers, moved.gpus_count);
    return err;
}

// Another supervisor has the control socket. It sends orders of its own to hold the session back.
static int take_successor(const struct control_frame *frame, int rules)
{
    struct control_taken_over taken;
    int err = control_decode(frame, CONTROL_TAKEN_OVER, &taken);

    if (!err && taken.account && (rules < 0 || !session.account))
        err = -EPROTO;
    if (!err && taken.account)
        err = ledger_change_rules(session.account, rules);
    if (rules >= 0)
        close(rules);
    if (err)
        return err;
    log_info("another supervisor has taken over");
    quiesce_hold(false);
    if (taken.pause)
        quiesce_begin(taken.pause);
    else
        quiesce_end();
    asking_again();
    session_report_anew();
    return 0;
}

void orders_take(void)
{
    struct control_frame frame = {0};
    struct control_end end = {.reason = CONTROL_END_REASON_SHUTDOWN};
    int passed = -1;
    int err = control_receive_packet(session.control, &frame, &passed);

    if (err == -EAGAIN)
        return;
    if (!err && asking_is_answer(frame.header.type))
        err = asking_answered(&frame, passed);
    else if (!err && frame.header.type == CONTROL_EXPORT_INHERITED)
        err = take_inheritance(&frame);
    else if (!err && frame.header.type == CONTROL_PEER_CAME)
        err = take_caller(&frame, passed);
    else if (!err && frame.header.type == CONTROL_PAUSE)
        err = take_pause(&frame);
    else if (!err && frame.header.type == CONTROL_SAVE)
        err = take_save(&frame);
    else if (!err && frame.header.type == CONTROL_RESTORE)
        err = take_restore(&frame);
    else if (!err && frame.header.type == CONTROL_MOVED)
        err = take_move(&frame);
    else if (!err && frame.header.type == CONTROL_GO_ON)
        quiesce_end();
    else if (!err && frame.header.type == CONTROL_HOLD)
        err = take_hold(&frame);
    else if (!err && frame.header.type == CONTROL_TAKEN_OVER)
        err = take_successor(&frame, passed);
    else if (!err)
        err = control_decode(&frame, CONTROL_END, &end) ?: 1;
    control_frame_free(&frame);
    if (!err)
        return;
    if (err < 0)
        snprintf(end.text, sizeof(end.text), "the supervisor is gone");
    end_by_order(&end);
}

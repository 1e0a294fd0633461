// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/supervision/worker_messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/service/helper.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/workers/box_calls.h"
#include "daemon/rgpud/gpus/exported.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/offered_transports.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/suspension/worker_steps.h"
#include "daemon/rgpud/suspension/worker_images.h"
#include "daemon/rgpud/vm/vm_windows.h"
#include "proto/cuda_abi.h"

enum {
    MESSAGES_PER_TURN = 8,
    MPS_FAREWELL_US = 300000, // time for GPU work of a client whose session has ended
};

static int adopt_devices(struct worker_process *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;
    uint32_t ordinal = box_first_ordinal(box);

    if (!box->devices_known && box_adopt_inventory(box, ready))
        return -ENODEV;
    if (!worker->device) {
        worker_process_count(worker, -1);
        for (uint32_t i = 0; i < box->device_count; i++)
            if (box->devices[i].ordinal == ordinal)
                worker->device = &box->devices[i];
        worker_process_count(worker, +1);
        // This worker reaches all devices of the driver. It may serve only if the box offers all of
        // them.
        if (box->device_count == ready->devices_count)
            worker->sees = box_device_set_all(box);
    }
    return worker->device ? 0 : -ENODEV;
}

static int take_ready(struct worker_process *worker, const struct control_ready *ready)
{
    struct box *box = worker->box;

    // It was ordered to end meanwhile, and will read that next.
    if (worker->state == WORKER_ENDING)
        return 0;
    if (worker->state != WORKER_STARTING)
        return -EPROTO;
    if (adopt_devices(worker, ready)) {
        worker_process_kill(worker, "the chosen devices are not there");
        return 0;
    }
    struct box_device *device = worker->device;
    uint64_t cost =
        device->ordinal < ready->devices_count ? ready->devices[device->ordinal].context_cost : 0;
    if (!worker->mps && mps_serves(device, worker->sees)) {
        evtimer_del(worker->deadline);
        worker_process_move(worker, WORKER_WARM);
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN,
                   "it has shown the GPUs, which others serve by MPS");
        return 0;
    }
    // Parallel starts can only increase the figure, so the smallest one is kept. Under MPS only a
    // client of the daemon can measure the memory of a context. A worker without a context reports
    // 0.
    bool measures = cost && (worker->mps || !mps_is_wanted(device));
    if (measures && (!device->measured || cost < device->info.context_cost)) {
        device->info.context_cost = cost;
        device->measured = true;
        box->description++;
    }
    box->cuda_version = ready->driver_version;
    snprintf(device->place, sizeof(device->place), "%s", ready->place);
    evtimer_del(worker->deadline);
    worker_process_move(worker, WORKER_WARM);
    if (worker->mps)
        mps_note_client(device);
    log_info("worker ready pid=%d device=%u took_ms=%lld context_cost=%llu", (int)worker->pid,
             device->ordinal, (long long)(clock_ms() - worker->started_ms),
             (unsigned long long)device->info.context_cost);
    if (!box_accepts_sessions(box))
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
    return 0;
}

static int take_stats(struct worker_process *worker, const struct control_stats *stats)
{
    struct session_record *session = &worker->session;

    // The transport's name appears in lists. If it were not valid text, the session would be
    // missing from them.
    if (!session->id || (*stats->transport && !transport_is_known(stats->transport)))
        return -EPROTO;
    if (strcmp(stats->transport, session->stats.transport))
        log_info("session=%llu transport=%s reason=\"%s\"", (unsigned long long)session->id,
                 stats->transport, stats->reason);
    if (stats->calls != session->stats.calls || stats->bytes_in != session->stats.bytes_in ||
        stats->bytes_out != session->stats.bytes_out)
        worker->active_ms = clock_ms();
    gpu_time_add_bytes(worker, stats);
    session->stats = *stats;
    return 0;
}

// Returns true if the fault concerns only this client. The server may have other clients.
static bool is_left_alone(int result)
{
    return result == CUDA_ERROR_MPS_CONNECTION_FAILED ||
           result == CUDA_ERROR_MPS_SERVER_NOT_READY || result == CUDA_ERROR_MPS_CLIENT_TERMINATED;
}

// Handles a worker's fault. The message depends on the loss of other sessions' contexts.
static int take_fault(struct worker_process *worker, int result)
{
    const struct worker_process *other;
    unsigned sessions = 0;
    char text[128];

    if (!worker->mps)
        return 0;
    if (is_left_alone(result)) {
        snprintf(text, sizeof(text),
                 "the GPU's MPS server serves this session no more (CUDA error %d)", result);
        worker_end(worker, CONTROL_END_REASON_DEVICE_LOST, text);
        return 0;
    }
    TAILQ_FOREACH(other, &worker->box->workers, link)
        sessions += other->mps && other->device == worker->device && other->session.id;
    mps_faulted(worker->device, worker->session.grant.lease, result, sessions == 1);
    return 0;
}

static int take_failure(struct worker_process *worker, const struct control_failed *failed)
{
    snprintf(worker->reason, sizeof(worker->reason), "%s", failed->text);
    return 0;
}

static int take_end(struct worker_process *worker, const struct control_ended *ended)
{
    worker->session.ended = true;
    worker->session.end = *ended;
    if (worker->mps)
        worker_process_set_timer(worker, MPS_FAREWELL_US);
    return 0;
}

static int worker_messages_take_message(struct worker_process *worker,
                                        const struct control_frame *frame, int fd)
{
    SCOPED_FREE union control_message *message = malloc(sizeof(*message));
    int err = message ? control_decode(frame, frame->header.type, message) : -ENOMEM;

    if (err)
        return err;
    switch (frame->header.type) {
    case CONTROL_READY: return take_ready(worker, &message->ready);
    case CONTROL_FAILED: return take_failure(worker, &message->failed);
    case CONTROL_STATS: return take_stats(worker, &message->stats);
    case CONTROL_ENDED: return take_end(worker, &message->ended);
    case CONTROL_FAULTED: return take_fault(worker, message->faulted.result);
    case CONTROL_PAUSED: return suspension_paused(worker, &message->paused);
    case CONTROL_SAVED: return worker_images_saved(worker, &message->saved);
    case CONTROL_RESTORED: return worker_images_restored(worker, &message->restored);
    case CONTROL_CALLED: return suspension_called(worker, &message->called);
    case CONTROL_QUOTA_REQUEST: return overcommit_asked(worker, &message->quota_request);
    case CONTROL_EXPORT: return exports_add(worker, &message->export, fd);
    case CONTROL_REDEEM: return exports_redeem(worker, &message->redeem);
    case CONTROL_EXPORT_END: return exports_end(worker, &message->export_end);
    case CONTROL_WINDOW_TAKE: return vm_windows_take(worker, &message->window_take);
    case CONTROL_WINDOW_GIVE: return vm_windows_give(worker, &message->window_give);
    case CONTROL_PEER_EXPECT: return box_calls_expect(worker, &message->peer_expect);
    case CONTROL_PEER_CALL: return box_calls_make(worker, &message->peer_call);
    case CONTROL_PEER_REACH: return box_calls_reach(worker, &message->peer_reach);
    default: return -EPROTO;
    }
}

// Returns true if the worker sends too many messages. An honest worker reports changes once a
// second, and a few messages at its start and end. A worker that exceeds its rate for long is
// ended, so that it cannot block the others. Messages about shared memory and quotas come as often
// as the client's program needs them. They have limits of their own, and limits.c bounds the shared
// memory.
static bool floods(struct worker_process *worker, const struct control_frame *frame)
{
    switch (frame->header.type) {
    case CONTROL_EXPORT:
    case CONTROL_REDEEM:
    case CONTROL_WINDOW_TAKE:
    case CONTROL_WINDOW_GIVE:
    case CONTROL_QUOTA_REQUEST:
    case CONTROL_EXPORT_END: return !allowance_take(&worker->exporting, 1);
    case CONTROL_PEER_EXPECT:
    case CONTROL_PEER_CALL:
    case CONTROL_PEER_REACH: return !allowance_take(&worker->calling, 1);
    default: return !allowance_take(&worker->messages, 1);
    }
}

// Refuses a descriptor that is not of the kind which belongs to the message. Its close could block.
static int check_passed(const struct worker_process *worker, const struct control_frame *frame,
                        int fd)
{
    if (frame->header.type == CONTROL_EXPORT && exports_is_memory(fd))
        return 0;
    log_error("worker pid=%d passes a descriptor that is no memory of a GPU message=%u",
              (int)worker->pid, (unsigned)frame->header.type);
    return -EBADF;
}

int worker_messages_take(struct worker_process *worker, int most)
{
    struct control_frame frame = {0};
    int err = 0, passed;

    while (!err && most-- > 0) {
        err = control_receive_packet(worker->control_fd, &frame, &passed);
        if (err)
            break;
        if (passed >= 0)
            err = check_passed(worker, &frame, passed);
        if (err) {
            close_stranger(passed);
            break;
        }
        err = floods(worker, &frame) ? -EDQUOT
                                     : worker_messages_take_message(worker, &frame, passed);
        if (passed >= 0)
            close_aside(passed);
    }
    control_frame_free(&frame);
    return err;
}

void worker_messages_readable(evutil_socket_t fd, short events, void *argument)
{
    struct worker_process *worker = argument;
    struct box *box = worker->box;
    int err;

    // The spawner's reply with the process id is on its way.
    if (!worker->pid)
        return;
    err = worker_messages_take(worker, MESSAGES_PER_TURN);
    if (!err || err == -EAGAIN) {
        box_changed(box);
        return;
    }
    event_del(worker->readable);
    if (err == -ECONNRESET) {
        // The worker has usually exited. A worker that only closed its socket is killed after the
        // grace time.
        if (worker->state != WORKER_ENDING) {
            worker_process_move(worker, WORKER_ENDING);
            worker_process_set_timer(worker, box->settings.worker_stop_grace);
        }
    } else if (err == -EDQUOT) {
        log_error("worker pid=%d floods rgpud with messages", (int)worker->pid);
        worker_process_kill(worker, "flooded rgpud with messages");
    } else {
        log_error("worker pid=%d broke the protocol error=\"%s\"", (int)worker->pid,
                  strerror(-err));
        worker_process_kill(worker, "broke the protocol with rgpud");
    }
    box_changed(box);
}

// SPDX-License-Identifier: BSD-3-Clause
// The sessions of this process: the numbers of their devices, and the end of a session.
#include "client-lib/cuda/session/box_session.h"

#include <stdlib.h>
#include <unistd.h>

#include "client-lib/cuda/report/tell.h"
#include "common/base/log.h"
#include "common/base/scope.h"

struct box_session *sessions[SESSIONS_MAX];
_Atomic unsigned int session_count;
int session_device_count;
// The devices that the program sees, in its order, followed by those that were opened later.
static struct shown_device {
    struct box_session *session;
    uint32_t number; // number on its box
} shown[DEVICES_MAX];
static _Atomic int numbered;
const struct session_listener *session_listener;

struct box_session *session_of_device(CUdevice device)
{
    return device >= 0 && device < numbered ? shown[device].session : NULL;
}

CUdevice session_number(struct box_session *session, uint32_t number)
{
    CUdevice next = numbered;
    shown[next] = (struct shown_device){session, number};
    if (session->first_device == CU_DEVICE_INVALID)
        session->first_device = next;
    numbered = next + 1;
    return next;
}

void session_forget_devices(void)
{
    numbered = session_device_count = 0;
}

int box_device_number(CUdevice device)
{
    return session_of_device(device) ? (int)shown[device].number : CU_DEVICE_INVALID;
}

CUdevice session_shown(const struct box_session *session, uint32_t number)
{
    for (CUdevice i = 0; i < numbered; i++)
        if (shown[i].session == session && shown[i].number == number)
            return i;
    return CU_DEVICE_INVALID;
}

const struct wire_device *session_device(CUdevice device)
{
    struct box_session *session = session_of_device(device);
    return session ? &session->devices[shown[device].number] : NULL;
}

static void wake_all(struct box_session *session)
{
    SCOPED_LOCK(&session->lock);
    for (struct waiter *w = session->waiting; w; w = w->next)
        pthread_cond_signal(&w->changed);
    pthread_cond_signal(&session->service_needed);
}

void session_fail(struct box_session *session, CUresult result, const char *reason)
{
    int alive = 0;
    if (!atomic_compare_exchange_strong(&session->lost, &alive, (int)result))
        return;
    tell(
        "the session with box %s is lost: %s. What the program had on its GPUs is gone, and every CUDA call "
        "fails from now on: start it again.",
        session->box, reason);
    log_error("session lost box=%s session=%llu reason=\"%s\"", session->box,
              (unsigned long long)session->id, reason);
    link_shutdown(session->link);
    wake_all(session);
    session_listener->lost(session);
}

void session_free(struct box_session *session)
{
    if (session->link)
        link_goodbye(session->link);
    link_free(&session->link);
    free(session->blocks);
    session_stream_close(&session->stream);
    free(session->devices);
    free(session->peers);
    free(session);
}

// A connection that ends without a word may be made again, so the box would wait. Threads that run
// until the end of the program must not report the end of a session. The timeline still asks boxes
// in a destructor; this is the last one.
__attribute__((destructor(101))) static void say_goodbye(void)
{
    for (unsigned int i = 0; i < session_count; i++) {
        int alive = 0;
        if (atomic_compare_exchange_strong(&sessions[i]->lost, &alive, CUDA_ERROR_DEINITIALIZED))
            link_goodbye(sessions[i]->link);
    }
}

void sessions_abandon(void)
{
    for (unsigned int i = 0; i < session_count; i++) {
        link_abandon(sessions[i]->link);
        if (sessions[i]->stream.fd >= 0)
            close(sessions[i]->stream.fd);
        sessions[i]->stream.fd = -1;
    }
}

// Late pushes, and the thread that sends their data when it is due.
#include "client-lib/late_push.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "client-lib/copy.h"
#include "client-lib/exports.h"

enum { LATE_MAX = 32 }; // under way at one time; each holds a stream of the worker

struct late {
    struct session *session;
    uint32_t job;
    const void *src;
    size_t size;
    struct late *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due_now = PTHREAD_COND_INITIALIZER;
static struct late *waiting; // asked for, not due
static struct late *due, **due_end = &due;
static unsigned int count; // of both
static bool running;

static void *send_due(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!due)
            pthread_cond_wait(&due_now, &lock);
        struct late *late = due;
        due = late->next;
        if (!due)
            due_end = &due;
        pthread_mutex_unlock(&lock);
        streamed_blocks(late->session, late->job, late->src, late->size);
        session_expect(late->session, -1);
        free(late);
        pthread_mutex_lock(&lock);
        count--;
    }
    return NULL;
}

static bool start_thread(void)
{
    pthread_t thread;
    sigset_t all, old;
    if (running)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    running = pthread_create(&thread, NULL, send_due, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (running)
        pthread_detach(thread);
    return running;
}

static struct late *take_waiting(const struct session *session, uint32_t job)
{
    struct late **at = &waiting;
    while (*at && ((*at)->session != session || (*at)->job != job))
        at = &(*at)->next;
    struct late *found = *at;
    if (found)
        *at = found->next;
    return found;
}

CUresult late_push(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                   CUstream stream)
{
    struct late *late = malloc(sizeof(*late));
    if (!late)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool room = count < LATE_MAX && start_thread();
    if (room) {
        *late = (struct late){session, session_new_job(session), src, size, waiting};
        waiting = late;
        count++;
    }
    pthread_mutex_unlock(&lock);
    if (!room) {
        free(late);
        return CUDA_ERROR_NOT_READY;
    }
    uint32_t job = late->job;
    session_expect(session, 1);
    CUresult result = remote_push_begin(job, dst, size, stream, true);
    if (result != CUDA_SUCCESS) {
        pthread_mutex_lock(&lock);
        free(take_waiting(session, job));
        count--;
        pthread_mutex_unlock(&lock);
        session_expect(session, -1);
    }
    return result;
}

void late_push_due(struct session *session, uint32_t job)
{
    pthread_mutex_lock(&lock);
    struct late *found = take_waiting(session, job);
    if (found) {
        found->next = NULL;
        *due_end = found;
        due_end = &found->next;
        pthread_cond_signal(&due_now);
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, "data was wanted that is not there");
}

// cuInit: connecting to the boxes, once, on first use; and what becomes of it in a forked child.
#include "client-lib/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "client-lib/exports.h"
#include "client-lib/session.h"
#include "common/log.h"

enum { NOT_INITIALIZED, READY, FORKED };

static _Atomic int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// By this name a worker recognises that it was given this library for a driver.
RGPU_EXPORT extern const char rgpu_client_marker[];
const char rgpu_client_marker[] = "rgpu client " RGPU_VERSION;

// In the child of a fork CUDA cannot be used, as with a local GPU; the parent's sessions go on.
static void forget_in_child(void)
{
    if (atomic_load(&state) == READY) {
        atomic_store(&state, FORKED);
        sessions_abandon();
    }
    pthread_mutex_init(&lock, NULL);
}

CUresult process_ready(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    return __builtin_expect(now == READY, 1) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

__attribute__((constructor)) static void library_loaded(void)
{
    log_init("rgpu", LOG_LEVEL_OFF);
    log_level_from_environment();
}

CUresult cuInit(unsigned int flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = CUDA_SUCCESS;
    int now = atomic_load(&state);
    if (now == NOT_INITIALIZED) {
        // Threads that are started here leave signals to those of the program.
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        result = sessions_open();
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (result == CUDA_SUCCESS) {
            pthread_atfork(NULL, NULL, forget_in_child);
            atomic_store_explicit(&state, READY, memory_order_release);
        }
    } else if (now == FORKED) {
        result = CUDA_ERROR_NOT_INITIALIZED;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

// SPDX-License-Identifier: BSD-3-Clause
// A thread of each process executes the requests that other processes write to its slot of the
// shared state; a futex in the slot wakes both sides. A request is executed even if the requesting
// process has died.
#include "sim/engine/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/engine/device.h"
#include "sim/engine/shared_state.h"
#include "sim/sim.h"
#include "sim/uuid.h"

enum { LOCK, CHECKPOINT, RESTORE, UNLOCK };
enum { LOOK_MS = 100 }; // between looks at whether the other side is still there

// ---- waiting threads and the work that they wait for ----

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened; // calls may go on
    pthread_cond_t quiet;  // no work is left
    atomic_bool closed;
    atomic_uint work; // submitted and not done
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_working;

bool checkpoint_set_working(bool working)
{
    bool before = is_working;

    is_working = working;
    return before;
}

static void await_opening(void)
{
    SCOPED_LOCK(&gate.lock);

    while (atomic_load(&gate.closed))
        pthread_cond_wait(&gate.opened, &gate.lock);
}

void checkpoint_pass(void)
{
    if (__builtin_expect(atomic_load_explicit(&gate.closed, memory_order_relaxed), 0) &&
        !is_working)
        await_opening();
}

// The working thread counts itself before it reads the gate, and the closing thread closes the gate
// before it reads the count: at least one of them sees the other.
void checkpoint_work_begins(void)
{
    atomic_fetch_add(&gate.work, 1);
    while (atomic_load(&gate.closed) && !is_working) {
        checkpoint_work_ended();
        await_opening();
        atomic_fetch_add(&gate.work, 1);
    }
}

void checkpoint_work_ended(void)
{
    if (atomic_fetch_sub(&gate.work, 1) > 1 || !atomic_load(&gate.closed))
        return;
    SCOPED_LOCK(&gate.lock);
    pthread_cond_broadcast(&gate.quiet);
}

static void checkpoint_open_gate(void)
{
    SCOPED_LOCK(&gate.lock);

    atomic_store(&gate.closed, false);
    pthread_cond_broadcast(&gate.opened);
}

static bool close_gate(uint32_t timeout_ms)
{
    struct timespec until = deadline_timespec(deadline_in(timeout_ms));
    int err = 0;

    pthread_mutex_lock(&gate.lock);
    atomic_store(&gate.closed, true);
    while (atomic_load(&gate.work) && !err)
        err = timeout_ms ? pthread_cond_clockwait(&gate.quiet, &gate.lock, CLOCK_MONOTONIC, &until)
                         : pthread_cond_wait(&gate.quiet, &gate.lock);
    bool quiet = !atomic_load(&gate.work);
    pthread_mutex_unlock(&gate.lock);
    if (!quiet)
        checkpoint_open_gate();
    return quiet;
}

// ---- the process that is asked ----

// Each device that this process can see has to go to one, and no two to the same.
static bool names_all(const int places[SIM_MAX_DEVICES])
{
    bool taken[SIM_MAX_DEVICES] = {false};

    for (int i = 0; i < device_count(); i++) {
        int to = places[shared_state_place(device_config()->ordinals[i])];
        if (to < 0 || taken[to])
            return false;
        taken[to] = true;
    }
    return true;
}

static CUresult take_back(const struct shared_request *request)
{
    int places[SIM_MAX_DEVICES];
    uint64_t totals[SIM_MAX_DEVICES];

    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        places[i] = request->places[i] < SIM_MAX_DEVICES ? request->places[i] : -1;
        totals[i] = sim_config_memory(device_config(), i);
    }
    SIM_RETURN_IF(!names_all(places), CUDA_ERROR_INVALID_VALUE);
    return shared_state_take_back(places, totals) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult checkpoint_act(struct shared_request *request)
{
    static const struct {
        CUprocessState from, to;
    } steps[] = {
        [LOCK] = {CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED},
        [CHECKPOINT] = {CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED},
        [RESTORE] = {CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_LOCKED},
        [UNLOCK] = {CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING},
    };
    uint32_t what = request->what;
    CUresult result = CUDA_SUCCESS;

    if (what > UNLOCK || atomic_load(&request->state) != steps[what].from)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (what == LOCK && !close_gate(request->timeout_ms))
        return CUDA_ERROR_NOT_READY;
    if (what == CHECKPOINT)
        shared_state_put_aside();
    if (what == RESTORE)
        result = take_back(request);
    if (result)
        return result;
    atomic_store(&request->state, steps[what].to);
    if (what == UNLOCK)
        checkpoint_open_gate();
    return CUDA_SUCCESS;
}

static void await_change(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, most, NULL, 0);
}

static void tell_change(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *act_on_requests(void *argument)
{
    struct shared_request *request = argument;
    uint32_t answered = 0;

    request->thread = (uint32_t)gettid();
    for (;;) {
        uint32_t asked = atomic_load(&request->asked);
        if (asked == answered) {
            await_change(&request->asked, asked, NULL);
            continue;
        }
        request->result = (uint32_t)checkpoint_act(request);
        atomic_store(&request->answered, answered = asked);
        tell_change(&request->answered);
    }
    return NULL;
}

int checkpoint_start(void)
{
    sigset_t all, before;
    pthread_t thread;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    close(ends[1]);
    shared_state_own_request()->pipe = ends[0];
    pthread_cond_init(&gate.opened, NULL);
    pthread_cond_init(&gate.quiet, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&thread, NULL, act_on_requests, shared_state_own_request());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_detach(thread);
    return -err;
}

// ---- the process that asks ----

static CUresult await_answer(struct shared_request *request, uint32_t pid, uint32_t number)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    uint32_t answered;

    while ((answered = atomic_load(&request->answered)) != number) {
        if (!shared_state_is_alive(request, pid))
            return CUDA_ERROR_OPERATING_SYSTEM;
        await_change(&request->answered, answered, &look);
    }
    return (CUresult)request->result;
}

static CUresult checkpoint_find(int pid, struct shared_request **out)
{
    SIM_TRY(sim_check_started());
    *out = pid > 0 ? shared_state_request_of((uint32_t)pid) : NULL;
    if (*out)
        return CUDA_SUCCESS;
    return pid > 0 && !kill(pid, 0) ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_OPERATING_SYSTEM;
}

// NVIDIA's driver (580) opens pipes of the other process before it locks it, so this needs the same
// rights.
static bool may_open_pipe(int pid, const struct shared_request *request)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, request->pipe);
    SCOPED_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0;
}

static CUresult checkpoint_ask(int pid, uint32_t what, uint32_t timeout_ms, const int32_t *places)
{
    struct shared_request *request;

    SIM_TRY(checkpoint_find(pid, &request));
    SIM_RETURN_IF(!shared_state_begin_asking(request), CUDA_ERROR_ILLEGAL_STATE);
    request->what = what;
    request->timeout_ms = timeout_ms;
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        request->places[i] = places ? places[i] : i;
    uint32_t number = atomic_fetch_add(&request->asked, 1) + 1;
    tell_change(&request->asked);
    CUresult result = await_answer(request, (uint32_t)pid, number);
    shared_state_end_asking(request);
    return result;
}

// Returns the machine's number of the device; -1 if there is none.
static int place_of_uuid(const CUuuid *uuid)
{
    unsigned char bytes[16];

    for (int i = 0; i < device_config()->gpu_count + device_config()->instance_count; i++) {
        device_uuid(i, bytes);
        if (!memcmp(bytes, uuid->bytes, sizeof(bytes)))
            return i;
    }
    return -1;
}

static CUresult read_pairs(const CUcheckpointRestoreArgs *args, int32_t *places)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        places[i] = args && args->gpuPairsCount ? -1 : i;
    for (unsigned i = 0; args && i < args->gpuPairsCount; i++) {
        SIM_RETURN_IF(!args->gpuPairs, CUDA_ERROR_INVALID_VALUE);
        int from = place_of_uuid(&args->gpuPairs[i].oldUuid);
        int to = place_of_uuid(&args->gpuPairs[i].newUuid);
        SIM_RETURN_IF(from < 0 || to < 0, CUDA_ERROR_INVALID_VALUE);
        places[from] = to;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuCheckpointProcessGetState, int pid, CUprocessState *state)
{
    struct shared_request *request;

    SIM_RETURN_IF(!state, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(checkpoint_find(pid, &request));
    *state = (CUprocessState)atomic_load(&request->state);
    return CUDA_SUCCESS;
}

SIM_API(cuCheckpointProcessGetRestoreThreadId, int pid, int *tid)
{
    struct shared_request *request;

    SIM_RETURN_IF(!tid, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(checkpoint_find(pid, &request));
    *tid = (int)request->thread;
    return CUDA_SUCCESS;
}

SIM_API(cuCheckpointProcessLock, int pid, CUcheckpointLockArgs *args)
{
    struct shared_request *request;

    SIM_TRY(checkpoint_find(pid, &request));
    SIM_RETURN_IF(!may_open_pipe(pid, request), CUDA_ERROR_OPERATING_SYSTEM);
    return checkpoint_ask(pid, LOCK, args ? args->timeoutMs : 0, NULL);
}

SIM_API(cuCheckpointProcessCheckpoint, int pid, CUcheckpointCheckpointArgs *args)
{
    return checkpoint_ask(pid, CHECKPOINT, 0, NULL);
}

SIM_API(cuCheckpointProcessRestore, int pid, CUcheckpointRestoreArgs *args)
{
    int32_t places[SIM_MAX_DEVICES];

    SIM_TRY(sim_check_started());
    SIM_TRY(read_pairs(args, places));
    return checkpoint_ask(pid, RESTORE, 0, places);
}

SIM_API(cuCheckpointProcessUnlock, int pid, CUcheckpointUnlockArgs *args)
{
    return checkpoint_ask(pid, UNLOCK, 0, NULL);
}

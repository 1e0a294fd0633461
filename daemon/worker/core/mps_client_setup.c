// SPDX-License-Identifier: BSD-3-Clause
// The driver reads these variables when it is initialized and when it creates a context.
#include "daemon/worker/core/mps_client_setup.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/driver/lost_context.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum { REASON_NS = 200000000, FINISH_LOOK_NS = 200000 };

static int mps_client_setup_set_number(const char *name, const char *format,
                                       unsigned long long number)
{
    char text[48];

    if (!number)
        return unsetenv(name);
    snprintf(text, sizeof(text), format, number);
    return setenv(name, text, 1);
}

int mps_client_set_up(void)
{
    // Without a daemon of ours the driver finds none, whatever the supervisor's environment names.
    const char *pipe = *setup.mps_pipe ? setup.mps_pipe : "/nonexistent";

    if (setenv("CUDA_MPS_PIPE_DIRECTORY", pipe, 1) ||
        mps_client_setup_set_number("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%llu", setup.compute) ||
        mps_client_setup_set_number("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=%lluM",
                                    (setup.memory_limit + (1 << 20) - 1) >> 20))
        return -ENOMEM;
    return 0;
}

bool mps_client_as_meant(CUdevice device)
{
    int is = 0;

    // Drivers that do not know the question are believed.
    if (!*setup.mps_pipe ||
        driver.cuDeviceGetAttribute(&is, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device))
        return true;
    return is;
}

// ---- faults ----

// Returns true if RESULT means a fault or the end of the MPS server, which destroy the contexts of
// all its clients. A server without room for another context harms none.
static bool is_fatal(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED: return true;
    default: return result_loses_context(result);
    }
}

void mps_client_note(int control, CUresult result)
{
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    struct control_faulted faulted = {.result = (int32_t)result};

    if (!*setup.mps_pipe || !is_fatal(result) || atomic_flag_test_and_set(&reported))
        return;
    log_warn("the context is lost result=%d", (int)result);
    if (control_send_packet(control, CONTROL_FAULTED, &faulted, -1))
        log_debug("the supervisor does not hear of it");
    nanosleep(&(struct timespec){.tv_nsec = REASON_NS}, NULL);
}

// ---- the end ----

static void *mps_client_setup_finish(void *done)
{
    for (int i = 0; i < gpus.count; i++)
        if (gpus.list[i].present && gpus.list[i].primary &&
            !driver.cuCtxSetCurrent(gpus.list[i].primary))
            driver.cuCtxSynchronize();
    atomic_store((atomic_bool *)done, true);
    return NULL;
}

void mps_client_finish(void)
{
    static atomic_bool done;
    pthread_t thread;

    if (!*setup.mps_pipe || !driver.cuCtxSynchronize ||
        pthread_create(&thread, NULL, mps_client_setup_finish, &done))
        return;
    while (!atomic_load(&done))
        nanosleep(&(struct timespec){.tv_nsec = FINISH_LOOK_NS}, NULL);
}

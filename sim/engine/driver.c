// SPDX-License-Identifier: BSD-3-Clause
// Starts the driver: cuInit, versions, error texts, and the checks that begin each call.
#include <pthread.h>
#include <stdlib.h>

#include "common/driver/error.h"
#include "common/driver/export_tables.h"
#include "common/driver/integrity.h"
#include "common/driver/proc_address.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/engine/arena.h"
#include "sim/engine/checkpoint.h"
#include "sim/sim_config.h"
#include "sim/engine/context.h"
#include "sim/engine/device.h"
#include "sim/mps/mps_client.h"
#include "sim/engine/primary_context.h"
#include "sim/engine/shared_state.h"
#include "sim/sim.h"
#include "version.h"

static struct {
    pthread_mutex_t lock;
    atomic_bool ready;
    atomic_bool forked; // in a child of a process that called cuInit
    CUresult failure;
    bool tried;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool in_callback;

void sim_set_in_callback(bool inside)
{
    in_callback = inside;
}

CUresult sim_check_started(void)
{
    return atomic_load_explicit(&driver.ready, memory_order_acquire) &&
                   !atomic_load_explicit(&driver.forked, memory_order_relaxed)
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_check_ready(void)
{
    SIM_TRY(sim_check_started());
    checkpoint_pass();
    return in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

static void mark_forked(void)
{
    atomic_store(&driver.forked, true);
}

static void release_at_exit(void)
{
    if (!atomic_load(&driver.forked))
        shared_state_close();
}

// Starts the driver once. Called under the lock.
static CUresult driver_start(void)
{
    struct sim_config config;
    log_level_from_environment();
    if (sim_config_load(&config))
        return CUDA_ERROR_INVALID_VALUE;
    if (!config.device_count)
        return CUDA_ERROR_NO_DEVICE;
    SIM_TRY(mps_join());
    if (shared_state_open(config.state_path))
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (config.near)
        arenas_lie_near();
    device_setup(&config);
    if (checkpoint_start())
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (pthread_atfork(NULL, NULL, mark_forked))
        return CUDA_ERROR_OUT_OF_MEMORY;
    atexit(release_at_exit);
    return CUDA_SUCCESS;
}

SIM_API(cuInit, unsigned int flags)
{
    SIM_RETURN_IF(flags, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(atomic_load(&driver.forked), CUDA_ERROR_NOT_INITIALIZED);
    SCOPED_LOCK(&driver.lock);
    if (!driver.tried) {
        driver.tried = true;
        driver.failure = driver_start();
        atomic_store_explicit(&driver.ready, !driver.failure, memory_order_release);
    }
    CUresult result = driver.failure;
    return result;
}

SIM_API(cuDriverGetVersion, int *version)
{
    SIM_RETURN_IF(!version, CUDA_ERROR_INVALID_VALUE);
    *version = SIM_DRIVER_VERSION;
    integrity_set_driver_version(*version);
    return CUDA_SUCCESS;
}

// Lets the worker distinguish this library from the real driver and the client library.
SIM_EXPORT extern const char rgpu_sim_marker[];
SIM_EXPORT const char rgpu_sim_marker[] = "rgpu software GPU " RGPU_VERSION;

SIM_API(cuGetErrorName, CUresult error, const char **text)
{
    return cuda_error_get_name(error, text);
}

SIM_API(cuGetErrorString, CUresult error, const char **text)
{
    return cuda_error_get_text(error, text);
}

SIM_API(cuGetProcAddress_v2, const char *name, void **function, int version, cuuint64_t flags,
        CUdriverProcAddressQueryResult *status)
{
    return proc_address_get(name, function, version, flags, status);
}

// Looks a name up for programs compiled for per-thread default streams.
SIM_API(cuGetProcAddress_v2_ptsz, const char *name, void **function, int version, cuuint64_t flags,
        CUdriverProcAddressQueryResult *status)
{
    if (flags == CU_GET_PROC_ADDRESS_DEFAULT)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return proc_address_get(name, function, version, flags, status);
}

SIM_API(cuGetProcAddress, const char *name, void **function, int version, cuuint64_t flags)
{
    return proc_address_get_v1(name, function, version, flags);
}

SIM_API(cuGetExportTable, const void **table, const CUuuid *id)
{
    return export_table_get(table, id);
}

CUresult export_table_primary_context(CUcontext *context, CUdevice index)
{
    struct device *device;
    SIM_RETURN_IF(!context, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_get(index, &device));
    return primary_context_handle(device, context);
}

// Reports two groups; the first has one pair more, as on GPUs with disabled processors.
CUresult export_table_processor_groups(uint8_t *groups, uint8_t *places, size_t room, size_t *count)
{
    enum { PAIRS = DEVICE_MULTIPROCESSORS / 2, FIRST = PAIRS / 2 + 1 };
    struct context *context;
    SIM_TRY(context_current(&context));
    SIM_RETURN_IF(room < PAIRS, CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < PAIRS; i++) {
        groups[i] = i >= FIRST;
        places[i] = (uint8_t)(i >= FIRST ? i - FIRST : i);
    }
    *count = PAIRS;
    return CUDA_SUCCESS;
}

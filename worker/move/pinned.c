// Memory that we and the GPU share from the start: region 0 (a client's on shm, our staging blocks
// on a byte stream), and the gates that hold a stream back until data has moved.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/log.h"
#include "worker/worker.h"

struct pinned pinned;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t tickets[GATES]; // the value that the gate's last user waits for
static bool taken[GATES];
static unsigned next_gate;

static CUresult register_host(void *base, size_t size, CUdeviceptr *out)
{
    CUresult result = driver.cuMemHostRegister_v2(
        base, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

    if (result == CUDA_SUCCESS)
        result = driver.cuMemHostGetDevicePointer_v2(out, base, 0);
    return result;
}

static CUresult make_gates(void)
{
    void *page = mmap(NULL, GATES * sizeof(*pinned.gates), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (page == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pinned.gates = page;
    return CUDA_SUCCESS;
}

CUresult pinned_register(void)
{
    CUresult result = pinned.gates ? CUDA_SUCCESS : make_gates();

    if (result == CUDA_SUCCESS)
        result = register_host((void *)pinned.gates, GATES * sizeof(*pinned.gates),
                               &pinned.gates_device);
    if (result == CUDA_SUCCESS)
        result = register_host(pinned.staging->base, pinned.staging->size, &pinned.staging_device);
    if (result == CUDA_SUCCESS) {
        pinned.flags_device = pinned.staging_device + pinned.staging->flags_offset;
        result = driver.cuCtxGetCurrent(&pinned.owner);
    }
    return result;
}

void pinned_unregister(void)
{
    driver.cuMemHostUnregister((void *)pinned.gates);
    driver.cuMemHostUnregister(pinned.staging->base);
    pinned.owner = NULL;
}

int gate_take(uint32_t *ticket)
{
    int gate = -1;

    pthread_mutex_lock(&lock);
    for (unsigned tries = 0; tries < GATES && gate < 0; tries++) {
        unsigned candidate = next_gate++ % GATES;
        if (!taken[candidate])
            gate = (int)candidate;
    }
    if (gate >= 0) {
        taken[gate] = true;
        *ticket = ++tickets[gate];
    }
    pthread_mutex_unlock(&lock);
    return gate;
}

void gate_release(int gate)
{
    pthread_mutex_lock(&lock);
    taken[gate] = false;
    pthread_mutex_unlock(&lock);
}

CUresult gate_hold(CUstream stream, int gate, uint32_t ticket)
{
    if (!driver.cuStreamWaitValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    // "Greater or equal" counts around, and a gate that is used again has a higher ticket, so a
    // stream that has not yet seen its gate open is not held up by the next user.
    return driver.cuStreamWaitValue32_v2(stream, pinned.gates_device + (size_t)gate * 4, ticket,
                                         CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult gate_open_from(CUstream stream, int gate, uint32_t ticket)
{
    if (!driver.cuStreamWriteValue32_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuStreamWriteValue32_v2(stream, pinned.gates_device + (size_t)gate * 4, ticket,
                                          CU_STREAM_WRITE_VALUE_DEFAULT);
}

void gate_open(int gate, uint32_t ticket)
{
    atomic_store_explicit(&pinned.gates[gate], ticket, memory_order_release);
}

bool gate_is_open(int gate, uint32_t ticket)
{
    uint32_t now = atomic_load_explicit(&pinned.gates[gate], memory_order_acquire);

    return (int32_t)(now - ticket) >= 0;
}

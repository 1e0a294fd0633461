// SPDX-License-Identifier: BSD-3-Clause
// Device memory without an address for the client that counts against its budget: contexts that it
// creates, variables and code of modules, heaps and stacks of kernels.
#include "daemon/worker/account/charge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/driver/image_memory.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"

struct charge {
    const void *owner;
    int part; // of several that one owner has
    CUcontext context;
    int device;
    uint64_t size;
    struct charge *next;
};

static struct charge *charges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool charges_apply(int device)
{
    return gpus.list[device].budget != 0;
}

static struct charge *charge_find(const void *owner, int part, int device)
{
    struct charge *charge = charges;

    while (charge && (charge->owner != owner || charge->part != part || charge->device != device))
        charge = charge->next;
    return charge;
}

static struct charge *charge_insert(const void *owner, int part, CUcontext context, int device)
{
    struct charge *charge = calloc(1, sizeof(*charge));

    if (!charge)
        return NULL;
    *charge = (struct charge){
        .owner = owner, .part = part, .context = context, .device = device, .next = charges};
    charges = charge;
    return charge;
}

// Under lock. Returns how much is lacking for SIZE beside the TAKEN; 0: it is SIZE now.
static uint64_t set_to(struct charge *charge, uint64_t size, uint64_t taken)
{
    uint64_t has = charge->size + taken;

    if (size > has)
        return size - has;
    budget_give(charge->device, has - size);
    charge->size = size;
    return 0;
}

// The missing memory is searched without the lock, since the search may drop charges that the GPU
// has passed.
bool charge_set(const void *owner, int part, CUcontext context, int device, uint64_t size)
{
    uint64_t taken = 0, lacking = 0;
    bool fits = true;

    do {
        fits = !lacking || budget_find(device, lacking);
        taken += fits ? lacking : 0;
        SCOPED_LOCK(&lock);
        struct charge *charge = charge_find(owner, part, device);
        if (!charge)
            charge = charge_insert(owner, part, context, device);
        fits = fits && charge;
        lacking = fits ? set_to(charge, size, taken) : 0;
    } while (lacking);
    if (!fits)
        budget_give(device, taken);
    return fits;
}

static uint64_t charged(const void *owner, int part, int device)
{
    SCOPED_LOCK(&lock);
    const struct charge *charge = charge_find(owner, part, device);
    uint64_t size = charge ? charge->size : 0;
    return size;
}

void charge_drop(const void *owner)
{
    SCOPED_LOCK(&lock);
    for (struct charge **at = &charges; *at;) {
        struct charge *charge = *at;
        if (charge->owner != owner) {
            at = &charge->next;
            continue;
        }
        *at = charge->next;
        budget_give(charge->device, charge->size);
        free(charge);
    }
}

void charges_leave_context(CUcontext context, const void *end)
{
    SCOPED_LOCK(&lock);
    for (struct charge *charge = charges; charge; charge = charge->next)
        if (charge->context == context || charge->owner == context) {
            charge->owner = end;
            charge->context = NULL;
        }
}

void charge_rename(const void *owner, const void *name)
{
    SCOPED_LOCK(&lock);
    for (struct charge *charge = charges; charge; charge = charge->next)
        if (charge->owner == owner)
            charge->owner = name;
}

// ---- modules ----

CUresult charge_read_image(const void *image, uint64_t size, int device, struct image_memory *out)
{
    int r = image_memory_find(image, size, gpu_arch(device), out);

    if (!r)
        return CUDA_SUCCESS;
    // An image that cannot be counted could have any size.
    log_warn("an image is refused, since its variables cannot be counted size=%llu error=%d",
             (unsigned long long)size, r);
    return r == -EINVAL   ? CUDA_ERROR_INVALID_PTX
           : r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
                          : CUDA_ERROR_INVALID_IMAGE;
}

// 1,000 modules of small cubins took 2,000 MiB of an H100 (driver 580): a page each.
static uint64_t module_code(const struct image_memory *memory, uint64_t page)
{
    return page && memory->code > page ? (memory->code + page - 1) / page * page : page;
}

CUresult charge_module(const void *image, uint64_t size, const void *owner, CUcontext context,
                       int device)
{
    enum { VARIABLES, CODE }; // parts of what a module costs
    uint64_t page = gpus.list[device].page;
    struct image_memory memory;

    if (!charges_apply(device))
        return CUDA_SUCCESS;
    CUresult result = charge_read_image(image, size, device, &memory);
    if (result != CUDA_SUCCESS)
        return result;
    return charge_set(owner, VARIABLES, context, device, memory.variables) &&
                   charge_set(owner, CODE, context, device, module_code(&memory, page))
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

// ---- what kernels of a context may use ----

// The driver has a stack for every thread that can be resident at once.
static uint64_t resident_threads(int device)
{
    CUdevice handle = gpus.list[device].handle;
    int processors = 0, threads = 0;

    driver.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
    driver.cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                                handle);
    return (uint64_t)processors * (uint64_t)threads;
}

static uint64_t limit_bytes(int device, CUlimit limit, uint64_t value)
{
    enum { STACK_BEFORE = 1024 }; // in every context's cost
    uint64_t bytes;

    switch (limit) {
    case CU_LIMIT_MALLOC_HEAP_SIZE:
    case CU_LIMIT_PRINTF_FIFO_SIZE: return value;
    case CU_LIMIT_STACK_SIZE:
        if (value <= STACK_BEFORE)
            return 0;
        return __builtin_mul_overflow(value - STACK_BEFORE, resident_threads(device), &bytes)
                   ? UINT64_MAX
                   : bytes;
    default: return 0;
    }
}

bool charge_at_least(CUcontext context, int part, int device, uint64_t bytes)
{
    return bytes <= charged(context, part, device) ||
           charge_set(context, part, context, device, bytes);
}

bool charge_frames(CUcontext context, int device, uint32_t bytes)
{
    return charge_at_least(context, CU_LIMIT_STACK_SIZE + 1, device,
                           limit_bytes(device, CU_LIMIT_STACK_SIZE, bytes));
}

bool charge_limit(CUcontext context, int device, CUlimit limit, size_t value, uint64_t *before)
{
    int part = (int)limit + 1;

    *before = charged(context, part, device);
    return charge_set(context, part, context, device, limit_bytes(device, limit, value));
}

void charge_limit_back(CUcontext context, int device, CUlimit limit, uint64_t before)
{
    charge_set(context, (int)limit + 1, context, device, before);
}

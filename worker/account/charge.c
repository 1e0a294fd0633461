// SPDX-License-Identifier: BSD-3-Clause
// Device memory that has no address which a client was given, and yet counts against its budget:
// contexts that it creates, the variables of modules and libraries, heaps and stacks of kernels.
#include "worker/account/charge.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/driver/variables.h"
#include "common/log.h"
#include "common/scope.h"
#include "worker/account/budget.h"
#include "worker/account/passage.h"
#include "worker/gpus.h"
#include "worker/session.h"
#include "worker_driver.h"

struct charge {
    const void *owner;
    int part; // of several that one owner has
    CUcontext context;
    int device;
    uint64_t size;
    struct passage *passage; // behind which it is over; NULL: it ends with its owner
    struct charge *next;
};

static struct charge *charges;
static _Atomic unsigned passing; // charges that wait for the GPU
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool charges_apply(int device)
{
    return gpus.list[device].budget != 0;
}

static struct charge *find(const void *owner, int part, int device)
{
    struct charge *charge = charges;

    while (charge && (charge->owner != owner || charge->part != part || charge->device != device))
        charge = charge->next;
    return charge;
}

static struct charge *insert(const void *owner, int part, CUcontext context, int device)
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

// What is lacking is looked for without the lock, as charges that the GPU has passed may be dropped for it.
bool charge_set(const void *owner, int part, CUcontext context, int device, uint64_t size)
{
    uint64_t taken = 0, lacking = 0;
    bool fits = true;

    do {
        fits = !lacking || budget_find(device, lacking);
        taken += fits ? lacking : 0;
        SCOPED_LOCK(&lock);
        struct charge *charge = find(owner, part, device);
        if (!charge)
            charge = insert(owner, part, context, device);
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
    const struct charge *charge = find(owner, part, device);
    uint64_t size = charge ? charge->size : 0;
    return size;
}

// Under lock. The charges that OVER holds of, with its argument.
static bool drop(bool (*over)(const struct charge *charge, const void *argument),
                 const void *argument)
{
    bool any = false;

    for (struct charge **at = &charges; *at;) {
        struct charge *charge = *at;
        if (!over(charge, argument)) {
            at = &charge->next;
            continue;
        }
        *at = charge->next;
        budget_give(charge->device, charge->size);
        atomic_fetch_sub(&passing, charge->passage != NULL);
        passage_end(charge->passage);
        free(charge);
        any = true;
    }
    return any;
}

static bool is_owned(const struct charge *charge, const void *owner)
{
    return charge->owner == owner;
}

static bool is_passed(const struct charge *charge, const void *none)
{
    (void)none;
    return passage_is_over(charge->passage);
}

void charge_drop(const void *owner)
{
    SCOPED_LOCK(&lock);
    drop(is_owned, owner);
}

void charge_drop_behind(const void *owner, struct passage *passage)
{
    SCOPED_LOCK(&lock);
    struct charge *charge = charges;
    while (charge && charge->owner != owner)
        charge = charge->next;
    if (charge && passage) {
        charge->owner = charge; // another object may have the owner's place
        charge->passage = passage;
        atomic_fetch_add(&passing, 1);
    } else {
        passage_end(passage);
        drop(is_owned, owner);
    }
}

bool charges_pass(void)
{
    return atomic_load_explicit(&passing, memory_order_relaxed) != 0;
}

bool charges_settle(void)
{
    SCOPED_LOCK(&lock);
    bool any = drop(is_passed, NULL);
    return any;
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

// ---- libraries ----

enum { LIBRARY_VARIABLES = 0, LIBRARY_USE = 1 }; // parts of what a library costs
static _Atomic bool libraries_counted;           // some library has variables

// Under lock. *MORE: another context on that device uses it already.
static bool is_used(const void *library, CUcontext context, int device, bool *more)
{
    *more = false;
    for (const struct charge *c = charges; c; c = c->next) {
        if (c->owner != library || c->part != LIBRARY_USE || c->device != device)
            continue;
        if (c->context == context)
            return true;
        *more = true;
    }
    return false;
}

// Returns true if a use by CONTEXT is to be counted, of *SIZE bytes: none for the first context.
static bool lacks_use(const void *library, CUcontext context, int device, uint64_t *size)
{
    bool more, lacks;

    SCOPED_LOCK(&lock);
    const struct charge *variables = find(library, LIBRARY_VARIABLES, device);
    lacks = variables && variables->size && !is_used(library, context, device, &more);
    *size = lacks && more ? variables->size : 0;
    return lacks;
}

bool charge_library_use(const void *library, CUcontext context, int device)
{
    uint64_t size;
    bool more, used;

    if (!atomic_load_explicit(&libraries_counted, memory_order_relaxed) ||
        !lacks_use(library, context, device, &size))
        return true;
    // Without the lock, as for all charges.
    if (!budget_find(device, size))
        return false;
    SCOPED_LOCK(&lock);
    struct charge *use = NULL;
    used = is_used(library, context, device, &more); // by another thread meanwhile
    if (!used)
        use = insert(library, LIBRARY_USE, context, device);
    if (use)
        use->size = size;
    else
        budget_give(device, size);
    return used || use;
}

// The driver's own functions, which the generated handlers call by way of these.
static CUresult (*get_global)(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                              const char *name);
static CUresult (*get_module)(CUmodule *module, CUlibrary library);

static CUresult use_here(const void *library)
{
    CUcontext context = NULL;
    CUdevice device = 0;

    if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
        driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return CUDA_SUCCESS; // the driver says what it thinks of that
    return charge_library_use(library, context, session_device_of(device))
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get_counted_global(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                                   const char *name)
{
    CUresult result = use_here(library);

    return result == CUDA_SUCCESS ? get_global(address, bytes, library, name) : result;
}

static CUresult get_counted_module(CUmodule *module, CUlibrary library)
{
    CUresult result = use_here(library);

    return result == CUDA_SUCCESS ? get_module(module, library) : result;
}

void charges_prepare(void)
{
    get_global = driver.cuLibraryGetGlobal;
    get_module = driver.cuLibraryGetModule;
    if (get_global)
        driver.cuLibraryGetGlobal = get_counted_global;
    if (get_module)
        driver.cuLibraryGetModule = get_counted_module;
}

// ---- variables ----

CUresult charge_variables(const void *image, uint64_t size, const void *owner, CUcontext context,
                          int device)
{
    uint64_t bytes;

    if (!charges_apply(device))
        return CUDA_SUCCESS;
    int r = image_variable_bytes(image, size, gpu_arch(device), &bytes);
    if (r) { // what cannot be counted could be of any size
        log_warn("an image is refused, since its variables cannot be counted size=%llu error=%d",
                 (unsigned long long)size, r);
        return r == -EINVAL   ? CUDA_ERROR_INVALID_PTX
               : r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
                              : CUDA_ERROR_INVALID_IMAGE;
    }
    if (!bytes)
        return CUDA_SUCCESS;
    if (!context)
        atomic_store(&libraries_counted, true);
    return charge_set(owner, 0, context, device, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
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

static bool charge_at_least(CUcontext context, int part, int device, uint64_t bytes)
{
    return bytes <= charged(context, part, device) ||
           charge_set(context, part, context, device, bytes);
}

bool charge_frames(CUcontext context, int device, uint32_t bytes)
{
    return charge_at_least(context, CU_LIMIT_STACK_SIZE + 1, device,
                           limit_bytes(device, CU_LIMIT_STACK_SIZE, bytes));
}

bool charge_graphs(CUcontext context, int device, uint64_t bytes)
{
    enum { PART_GRAPHS = -2 }; // of what a context costs

    return charge_at_least(context, PART_GRAPHS, device, bytes);
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

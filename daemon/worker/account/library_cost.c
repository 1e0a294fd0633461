// SPDX-License-Identifier: BSD-3-Clause
// A driver loads a library into each context that uses it: first the variables, then kernel by
// kernel. Libraries in a context share pages (H200, driver 580: 200 libraries of 64 KiB took 14
// MiB). So the bytes in a context are added up and count in whole pages. Each kernel counts as the
// largest one of its library, up to the library's whole code.
#include "daemon/worker/account/library_cost.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/driver/image_memory.h"
#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

// A library in a context.
struct use {
    CUcontext context;
    int device;
    uint64_t bytes;
    CUkernel *kernels;
    size_t count, room;
    struct use *next;
};

struct library_cost {
    CUlibrary library;
    struct use *uses;
    struct library_cost *next;
    struct image_memory memory[GPUS_MAX]; // by device
};

static struct library_cost *costs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult library_cost_new(const void *image, uint64_t size, struct library_cost **out)
{
    CUresult result = CUDA_SUCCESS;

    *out = NULL;
    if (!session.budgeted)
        return CUDA_SUCCESS;
    struct library_cost *cost = calloc(1, sizeof(*cost));
    if (!cost)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < session.device_count && result == CUDA_SUCCESS; i++) {
        int device = session.ordinals[i];
        result = charge_read_image(image, size, device, &cost->memory[device]);
    }
    if (result == CUDA_SUCCESS)
        *out = cost;
    else
        free(cost);
    return result;
}

void library_cost_is(struct library_cost *cost, CUlibrary library)
{
    SCOPED_LOCK(&lock);
    if (!cost)
        return;
    cost->library = library;
    cost->next = costs;
    costs = cost;
}

// ---- counting. Under lock, as all that follows ----

static bool library_cost_count(CUcontext context, int device)
{
    uint64_t page = gpus.list[device].page ? gpus.list[device].page : 1, sum = 0;

    for (const struct library_cost *cost = costs; cost; cost = cost->next)
        for (const struct use *use = cost->uses; use; use = use->next)
            sum += use->context == context ? use->bytes : 0;
    return charge_set(context, PART_LIBRARIES, context, device, (sum + page - 1) / page * page);
}

static struct library_cost **library_cost_find(CUlibrary library)
{
    struct library_cost **at = &costs;

    while (*at && (*at)->library != library)
        at = &(*at)->next;
    return at;
}

static struct use *use_in(struct library_cost *cost, CUcontext context, int device)
{
    struct use *use = cost->uses;

    while (use && use->context != context)
        use = use->next;
    if (use || !(use = calloc(1, sizeof(*use))))
        return use;
    *use = (struct use){.context = context, .device = device, .next = cost->uses};
    cost->uses = use;
    return use;
}

static void free_use(struct use *use)
{
    free(use->kernels);
    free(use);
}

static bool library_cost_has(const struct use *use, CUkernel kernel)
{
    size_t i = 0;

    while (i < use->count && use->kernels[i] != kernel)
        i++;
    return i < use->count;
}

static bool library_cost_add(struct use *use, CUkernel kernel)
{
    if (use->count == use->room) {
        size_t more = use->room ? use->room * 2 : 8;
        CUkernel *grown = realloc(use->kernels, more * sizeof(CUkernel));
        if (!grown)
            return false;
        use->kernels = grown;
        use->room = more;
    }
    use->kernels[use->count++] = kernel;
    return true;
}

// As long as it is not known how the driver takes memory, code counts nothing.
static uint64_t library_cost_bytes_of(const struct library_cost *cost, const struct use *use)
{
    const struct image_memory *memory = &cost->memory[use->device];
    uint64_t kernels = library_cost_has(use, LIBRARY_ALL_KERNELS) ? UINT64_MAX : use->count;

    return memory->variables +
           (gpus.list[use->device].page ? image_memory_of_kernels(memory, kernels) : 0);
}

static bool use_more(struct library_cost *cost, CUkernel kernel, struct use *use)
{
    uint64_t before = use->bytes;

    if (kernel != LIBRARY_NO_KERNEL && !library_cost_add(use, kernel))
        return false;
    use->bytes = library_cost_bytes_of(cost, use);
    if (use->bytes == before || library_cost_count(use->context, use->device))
        return true;
    use->bytes = before;
    use->count -= kernel != LIBRARY_NO_KERNEL;
    return false;
}

bool library_cost_use(CUlibrary library, CUkernel kernel, CUcontext context, int device)
{
    SCOPED_LOCK(&lock);
    struct library_cost *cost = charges_apply(device) ? *library_cost_find(library) : NULL;
    struct use *use = cost ? use_in(cost, context, device) : NULL;
    bool fits = !cost || (use && (library_cost_has(use, kernel) || use_more(cost, kernel, use)));
    return fits;
}

void library_cost_end(CUlibrary library)
{
    SCOPED_LOCK(&lock);
    struct library_cost **at = library_cost_find(library), *gone = *at;
    if (!gone)
        return;
    *at = gone->next;
    for (struct use *use = gone->uses, *next; use; use = next) {
        next = use->next;
        library_cost_count(use->context, use->device);
        free_use(use);
    }
    free(gone);
}

void library_cost_free(struct library_cost *cost)
{
    free(cost);
}

// charges_leave_context() handles the memory.
static void library_cost_leave_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct library_cost *cost = costs; cost; cost = cost->next)
        for (struct use **at = &cost->uses; *at;) {
            struct use *use = *at;
            if (use->context != context) {
                at = &use->next;
                continue;
            }
            *at = use->next;
            free_use(use);
        }
}

void library_costs_prepare(void)
{
    context_watch(library_cost_leave_context);
}

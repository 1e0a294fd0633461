// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_windows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/link/link.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/peer/peer_link.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct mapped_window {
    uint32_t peer;
    CUdeviceptr address;
    CUcontext context; // in which it is mapped
    uint64_t borrowed; // bytes of MEMORY; 0: it is a whole allocation
    CUmemGenericAllocationHandle memory;
    struct mapped_window *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapped_window *windows;

// Memory that was lent once: the session that has mapped it does not report when it is done.
struct shown_memory {
    CUdeviceptr base;
    bool lent; // it is a mapping
    struct shown_memory *next;
};

static struct shown_memory *shown; // under lock

_Static_assert(sizeof(CUipcMemHandle) == sizeof(((struct wire_peer_memory *)0)->handle),
               "what travels is a handle");

bool peer_windows_allowed(struct serve *serve)
{
    if (!setup.peer_gpus)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return setup.peer_gpus;
}

// ---- showing ----

static bool peer_windows_is_shown(CUdeviceptr base)
{
    for (const struct shown_memory *at = shown; at; at = at->next)
        if (at->base == base)
            return true;
    return false;
}

static bool note_shown(CUdeviceptr base, bool lent)
{
    SCOPED_LOCK(&lock);
    if (peer_windows_is_shown(base))
        return true;
    struct shown_memory *memory = malloc(sizeof(*memory));
    if (!memory)
        return false;
    *memory = (struct shown_memory){base, lent, shown};
    shown = memory;
    return true;
}

static void show_own(struct serve *serve, CUdeviceptr address, struct wire_peer_memory *memory)
{
    CUipcMemHandle handle;
    CUcontext context;
    uint64_t end = 0;

    if (!allocation_is_plain(address, &memory->base, &end, &context)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memory->size = end - memory->base;
    serve_fail(serve, note_shown(memory->base, false)
                          ? driver.cuIpcGetMemHandle(&handle, memory->base)
                          : CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(memory->handle, &handle, sizeof(handle));
}

// Memory of another process is shown by the handle that it was opened with: the driver makes none
// of what is opened.
void serve_peer_show(struct serve *serve, const struct args_peer_show *args)
{
    struct wire_peer_memory memory = {.base = args->address};

    if (!peer_windows_allowed(serve) || !serve_require(serve, driver.cuIpcGetMemHandle))
        return;
    if (!allocation_is_imported(args->address) ||
        !import_find(args->address, &memory.size, memory.handle))
        show_own(serve, args->address, &memory);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, &memory, sizeof(memory));
}

// The link over which descriptors go, and we use it until left; NULL with the failure noted.
static struct peer_link *enter_link(struct serve *serve, uint32_t number)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(number);
    if (!link || link->state != PEER_DIRECT || link->lost != CUDA_SUCCESS ||
        link_memory(link->direct) != LINK_MEMORY_SHARED) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return NULL;
    }
    link->users++;
    return link;
}

static void leave_link(struct peer_link *link)
{
    SCOPED_LOCK(&peer_mover.lock);
    peer_link_leave(link);
}

static uint32_t next_region(void)
{
    static _Atomic uint32_t last;

    return 1 + atomic_fetch_add(&last, 1) % (WIRE_REGION_LIMIT - 1);
}

void peer_windows_lend(struct serve *serve, uint32_t peer, CUdeviceptr base, int fd,
                       uint32_t *region)
{
    struct peer_link *link = enter_link(serve, peer);

    if (!link)
        return;
    if (!note_shown(base, true))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    *region = next_region();
    if (!serve_failed(serve) && link_send_region(link->direct, *region, fd))
        serve_fail(serve, CUDA_ERROR_DEVICE_UNAVAILABLE);
    leave_link(link);
}

// ---- mapping ----

static bool peer_windows_keep(const struct mapped_window *made)
{
    struct mapped_window *window = malloc(sizeof(*window));

    if (!window)
        return false;
    SCOPED_LOCK(&lock);
    *window = *made;
    window->next = windows;
    windows = window;
    return true;
}

static void peer_windows_note_reached(uint32_t peer)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(peer);
    if (!link || link->reaches)
        return;
    link->reaches = true;
    peer_links_tell();
}

void serve_peer_map(struct serve *serve, const struct args_peer_map *args,
                    struct reply_peer_map *reply)
{
    const struct wire_peer_memory *memory = (const void *)(args + 1);
    CUipcMemHandle handle;
    CUdeviceptr address = 0;

    if (!peer_windows_allowed(serve) || !serve_require(serve, driver.cuIpcOpenMemHandle_v2))
        return;
    if (args->bytes != sizeof(*memory)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memcpy(&handle, memory->handle, sizeof(handle));
    serve_fail(serve,
               driver.cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    const struct mapped_window window = {.peer = args->peer,
                                         .address = address,
                                         .context = serve->current};
    if (!serve_failed(serve) && !peer_windows_keep(&window)) {
        driver.cuIpcCloseMemHandle(address);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!serve_failed(serve))
        peer_windows_note_reached(args->peer);
    reply->address = address;
}

static void give_borrowed_back(const struct mapped_window *window)
{
    driver.cuMemUnmap(window->address, window->borrowed);
    driver.cuMemRelease(window->memory);
    driver.cuMemAddressFree(window->address, window->borrowed);
}

// The window owns the imported memory; on failure it is released.
static CUresult map_borrowed(struct mapped_window *window)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdevice device = 0;
    CUresult result = driver.cuCtxGetDevice(&device);

    access.location.id = device;
    if (result == CUDA_SUCCESS)
        result = driver.cuMemAddressReserve(&window->address, window->borrowed, 0, 0, 0);
    if (result != CUDA_SUCCESS) {
        driver.cuMemRelease(window->memory);
        return result;
    }
    result = driver.cuMemMap(window->address, window->borrowed, 0, window->memory, 0);
    if (result == CUDA_SUCCESS)
        result = driver.cuMemSetAccess(window->address, window->borrowed, &access, 1);
    if (result == CUDA_SUCCESS && !peer_windows_keep(window))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        give_borrowed_back(window);
    return result;
}

static int take_descriptor(struct serve *serve, uint32_t peer, uint32_t region)
{
    struct peer_link *link = enter_link(serve, peer);
    int fd = -1;

    if (!link)
        return -1;
    if (link_receive_region(link->direct, region, LINK_REGION_ANY, &fd))
        serve_fail(serve, CUDA_ERROR_DEVICE_UNAVAILABLE);
    leave_link(link);
    return fd;
}

void serve_peer_borrow(struct serve *serve, const struct args_peer_borrow *args,
                       struct reply_peer_borrow *reply)
{
    const struct wire_peer_loan *loan = (const void *)(args + 1);
    struct mapped_window window = {.peer = args->peer, .context = serve->current};

    if (!peer_windows_allowed(serve) ||
        !serve_require(serve, driver.cuMemImportFromShareableHandle) ||
        !serve_require(serve, driver.cuMemMap))
        return;
    if (args->bytes != sizeof(*loan) || !loan->size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    window.borrowed = loan->size;
    SCOPED_FD int fd = take_descriptor(serve, args->peer, loan->region);
    if (!serve_failed(serve))
        serve_fail(serve,
                   driver.cuMemImportFromShareableHandle(&window.memory, (void *)(intptr_t)fd,
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (!serve_failed(serve))
        serve_fail(serve, map_borrowed(&window));
    if (!serve_failed(serve))
        peer_windows_note_reached(args->peer);
    reply->address = window.address;
}

// ---- the end ----

// Takes out the first that is of PEER and, unless that is 0, at ADDRESS.
static struct mapped_window *peer_windows_take(uint32_t peer, CUdeviceptr address)
{
    SCOPED_LOCK(&lock);
    struct mapped_window **at = &windows;
    while (*at && ((*at)->peer != peer || (address && (*at)->address != address)))
        at = &(*at)->next;
    struct mapped_window *window = *at;
    if (window)
        *at = window->next;
    return window;
}

static void peer_windows_close_window(struct mapped_window *window)
{
    if (window->borrowed)
        give_borrowed_back(window);
    else if (driver.cuCtxSetCurrent(window->context) == CUDA_SUCCESS)
        driver.cuIpcCloseMemHandle(window->address);
    free(window);
    atomic_fetch_add(&session.memory_epoch, 1);
}

void serve_peer_unmap(struct serve *serve, const struct args_peer_unmap *args)
{
    struct mapped_window *window = peer_windows_take(args->peer, args->address);

    if (!window)
        return; // it has gone with its context, or with the other box
    peer_windows_close_window(window);
    driver.cuCtxSetCurrent(serve->current);
}

static void *peer_windows_close_all(void *peer)
{
    struct mapped_window *window;

    while ((window = peer_windows_take((uint32_t)(uintptr_t)peer, 0)))
        peer_windows_close_window(window);
    return NULL;
}

// The driver may wait for what is still copied there.
void peer_windows_drop(uint32_t peer)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, peer_windows_close_all, (void *)(uintptr_t)peer))
        log_warn("memory of another box's GPU stays mapped peer=%u", peer);
    else
        pthread_detach(thread);
}

// Borrowed memory does not end with the context by itself.
static void peer_windows_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct mapped_window **at = &windows; *at;) {
        struct mapped_window *window = *at;
        if (window->context == context) {
            *at = window->next;
            if (window->borrowed)
                give_borrowed_back(window);
            free(window);
        } else {
            at = &window->next;
        }
    }
}

// Returns true if the memory at its address still exists. Other memory may be mapped there by now.
static bool peer_windows_is_there(const struct shown_memory *memory)
{
    uint64_t base, end;
    CUcontext context;

    if (memory->lent)
        return allocation_find(memory->base, &base, &end);
    return allocation_is_plain(memory->base, &base, &end, &context) && base == memory->base;
}

// Forgets freed memory. The caller holds the lock.
static void forget_freed(void)
{
    for (struct shown_memory **at = &shown; *at;) {
        struct shown_memory *memory = *at;
        if (peer_windows_is_there(memory)) {
            at = &memory->next;
        } else {
            *at = memory->next;
            free(memory);
        }
    }
}

bool peer_windows_any(void)
{
    SCOPED_LOCK(&lock);
    forget_freed();
    return windows || shown;
}

void peer_windows_prepare(void)
{
    context_watch(peer_windows_forget_context);
}

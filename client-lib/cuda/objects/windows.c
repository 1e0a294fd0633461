// SPDX-License-Identifier: BSD-3-Clause
// See windows.h. Memory is offered when it is allocated, because later the box might have to wait
// for running work. It is mapped when the first copy needs it. Mappings of the program are lent
// when a copy needs them, each by a descriptor that the peer link carries. If this fails once
// between two boxes it is not tried again: a worker may not open another box's GPU (peer_gpus), or
// there is no path between the two.
#include "client-lib/cuda/objects/windows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { SHOW_MIN = 64 * 1024 }; // bytes; smaller memory is not worth a request for each allocation

struct opened_window {
    uint64_t context, wire; // the context that has the mapping, and its handle on the wire at that
                            // time
    struct box_session *in;
    uint32_t peer;
    CUdeviceptr there;
    struct opened_window *next;
};

struct shown {
    struct wire_peer_memory memory;
    struct box_session *of;
    uint64_t context; // of the memory; 0: it belongs to no context
    bool lent;        // a mapping that is lent, instead of memory that is shown
    struct opened_window *windows;
    struct shown *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shown *all;
static bool impossible[2][SESSIONS_MAX][SESSIONS_MAX]; // indices: lent or not, the session that
                                                       // maps, the session of the memory

static unsigned int windows_number_of(const struct box_session *session)
{
    unsigned int i = 0;
    while (i < session_count && sessions[i] != session)
        i++;
    return i;
}

static bool windows_is_allowed(void)
{
    const char *text = secure_getenv("RGPU_PEER_LINK");
    return !text || !strcmp(text, "auto");
}

static bool windows_is_known(const struct box_session *from, const struct box_session *to,
                             bool lent)
{
    return lent ? session_knows(from, OP_peer_borrow) && session_knows(to, OP_peer_lend)
                : session_knows(from, OP_peer_map) && session_knows(to, OP_peer_show);
}

// Returns true if GPUs of one box may access memory of the other.
static bool windows_is_near(const struct box_session *from, const struct box_session *to, bool lent)
{
    static const uint8_t unknown[sizeof(from->boot_id)];
    return from != to && memcmp(from->boot_id, unknown, sizeof(unknown)) != 0 &&
           !memcmp(from->boot_id, to->boot_id, sizeof(unknown)) &&
           windows_is_known(from, to, lent) &&
           !impossible[lent][windows_number_of(from)][windows_number_of(to)];
}

static bool any_near(const struct box_session *of)
{
    for (unsigned int i = 0; i < session_count; i++)
        if (windows_is_near(sessions[i], of, false))
            return true;
    return false;
}

// ---- offering memory ----

void windows_show(const struct allocation *memory)
{
    struct wire_peer_memory got;
    size_t used = 0;
    if (session_count < 2 || memory->pool || memory->managed || memory->size < SHOW_MIN ||
        !windows_is_allowed())
        return;
    SCOPED_LOCK(&lock);
    if (!any_near(memory->session) ||
        remote_peer_show(memory->base, &got, sizeof(got), &used) != CUDA_SUCCESS ||
        used != sizeof(got) || got.base != memory->base)
        return;
    struct shown *shown = malloc(sizeof(*shown));
    if (!shown)
        return;
    *shown = (struct shown){
        .memory = got, .of = memory->session, .context = memory->context, .next = all};
    all = shown;
}

// Adds the mapping at ADDRESS, to lend it to another box. NULL: it cannot be lent.
static struct shown *add_mapping(CUdeviceptr address)
{
    struct allocation found;
    if (!windows_is_allowed() || !memory_find(address, &found) || !found.memory ||
        found.size < SHOW_MIN)
        return NULL;
    struct shown *shown = malloc(sizeof(*shown));
    if (!shown)
        return NULL;
    *shown = (struct shown){.memory = {.base = found.base, .size = found.size},
                            .of = found.session,
                            .lent = true,
                            .next = all};
    return all = shown;
}

// ---- mapping ----

static struct shown *windows_find_shown(CUdeviceptr address)
{
    struct shown *shown = all;
    while (shown &&
           !(address >= shown->memory.base && address - shown->memory.base < shown->memory.size))
        shown = shown->next;
    return shown;
}

static CUresult ask_loan(uint32_t peer, const struct shown *shown, struct wire_peer_loan *loan)
{
    struct call call = {.session = shown->of, .op = OP_peer_lend};
    struct args_peer_lend *args = call_reserve(&call, sizeof(*args));
    size_t used = 0;
    if (!args)
        return call.result;
    *args = (struct args_peer_lend){.peer = peer,
                                    .address = shown->memory.base,
                                    .reply_room = sizeof(*loan)};
    CUresult result = call_wait_bytes(&call, NULL, 0, loan, sizeof(*loan), &used);
    return result == CUDA_SUCCESS && used != sizeof(*loan) ? CUDA_ERROR_UNKNOWN : result;
}

static CUresult map_shown(uint32_t peer, const struct shown *shown, CUdeviceptr *there)
{
    struct wire_peer_loan loan;
    if (!shown->lent)
        return remote_peer_map(peer, there, &shown->memory, sizeof(shown->memory));
    CUresult result = ask_loan(peer, shown, &loan);
    return result == CUDA_SUCCESS ? remote_peer_borrow(peer, there, &loan, sizeof(loan)) : result;
}

static CUresult windows_map(uint32_t peer, const struct object *context, const struct shown *shown,
                            CUdeviceptr *there)
{
    CUresult result = thread_push_context((CUcontext)(uintptr_t)context->handle);
    if (result != CUDA_SUCCESS)
        return result;
    result = map_shown(peer, shown, there);
    thread_pop_context(NULL);
    return result;
}

static struct opened_window *windows_open_window(uint32_t peer, const struct object *context,
                                                 struct shown *shown)
{
    struct opened_window *window = calloc(1, sizeof(*window));
    CUresult result = window ? windows_map(peer, context, shown, &window->there)
                             : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        impossible[shown->lent][windows_number_of(context->session)][windows_number_of(shown->of)] =
            true;
        log_info(
            "the GPU of one box does not reach %s, though they are of one host: copies go over "
            "their link box=%s other=%s result=%d",
            shown->lent ? "what is mapped on another's" : "another's", context->session->box,
            shown->of->box, (int)result);
        free(window);
        return NULL;
    }
    if (!shown->windows)
        log_info("the GPU of one box reaches another's box=%s other=%s", context->session->box,
                 shown->of->box);
    window->context = context->handle;
    window->wire = context->ctx.wire;
    window->in = context->session;
    window->peer = peer;
    window->next = shown->windows;
    return shown->windows = window;
}

uint64_t windows_reach(uint32_t peer, const struct object *context, CUdeviceptr address,
                       CUdeviceptr *there)
{
    SCOPED_LOCK(&lock);
    struct shown *shown = windows_find_shown(address);
    if (!shown)
        shown = add_mapping(address);
    if (!shown || !windows_is_near(context->session, shown->of, shown->lent))
        return 0;
    struct opened_window *window = shown->windows;
    while (window && (window->context != context->handle || window->wire != context->ctx.wire))
        window = window->next;
    if (!window)
        window = windows_open_window(peer, context, shown);
    if (!window)
        return 0;
    *there = window->there + (address - shown->memory.base);
    return shown->memory.size - (address - shown->memory.base);
}

// ---- ending ----

static void windows_close_window(struct opened_window *window)
{
    struct call call = {.session = window->in, .op = OP_peer_unmap};
    struct args_peer_unmap *args = call_reserve(&call, sizeof(*args));
    if (args) {
        *args = (struct args_peer_unmap){.peer = window->peer, .address = window->there};
        call_wait(&call, NULL, 0);
    }
    free(window);
}

static void end_shown(struct shown *shown)
{
    while (shown->windows) {
        struct opened_window *window = shown->windows;
        shown->windows = window->next;
        windows_close_window(window);
    }
    free(shown);
}

void windows_forget(uint64_t base)
{
    if (session_count < 2)
        return;
    SCOPED_LOCK(&lock);
    for (struct shown **at = &all; *at; at = &(*at)->next) {
        struct shown *shown = *at;
        if (shown->memory.base != base)
            continue;
        *at = shown->next;
        end_shown(shown);
        return;
    }
}

// Ends the windows of a context, or else of a link.
static void drop_windows_in(struct shown *shown, uint64_t context, uint32_t peer)
{
    for (struct opened_window **at = &shown->windows; *at;) {
        struct opened_window *window = *at;
        if (context ? window->context == context : window->peer == peer) {
            *at = window->next;
            free(window);
        } else {
            at = &window->next;
        }
    }
}

void windows_forget_context(uint64_t context)
{
    SCOPED_LOCK(&lock);
    for (struct shown **at = &all; *at;) {
        struct shown *shown = *at;
        drop_windows_in(shown, context, 0);
        if (shown->context == context) {
            *at = shown->next;
            end_shown(shown);
        } else {
            at = &shown->next;
        }
    }
}

void windows_forget_link(uint32_t peer)
{
    SCOPED_LOCK(&lock);
    for (struct shown *shown = all; shown; shown = shown->next)
        drop_windows_in(shown, 0, peer);
}

// SPDX-License-Identifier: BSD-3-Clause
// Windows for kernels (kernel_windows.c): memory of our GPU into which kernels of other boxes put,
// and the proxy queue through which our kernels put into theirs. Kernels write the queue as they
// please: its content is copied before it is checked, and is never trusted.
//
// All functions are called under the lock of peer_link.h, unless stated otherwise.
#ifndef RGPU_WORKER_KERNEL_WINDOWS_H
#define RGPU_WORKER_KERNEL_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"
#include "worker_driver.h"

enum { KERNEL_MEMBERS_MAX = 64 };

struct kernel_window {
    uint32_t number; // the client's
    CUcontext context;
    CUdeviceptr base;
    uint64_t size;
    uint32_t blocks, tags;
    uint32_t epoch; // of session.memory_epoch, when the memory was there
    struct wire_proxy_queue *proxy_queue;
    CUdeviceptr counters; // the proxy queue's, as the GPU knows them
    uint32_t *signals;    // how many have come
    unsigned stores;      // puts from other boxes whose data are on their way into the window
    uint32_t next;        // put request
    struct wire_put_request put_request; // that is being sent; of turn 0: there is none
    uint64_t sent;                       // bytes of it
    bool reported;                       // that something was wrong in a put request
    struct {
        bool is_far;
        uint32_t peer, there; // the link, and the number of the window there
    } members[KERNEL_MEMBERS_MAX];
    struct kernel_window *next_window;
};

extern struct kernel_window *kernel_windows;

struct kernel_window *kernel_window_find(uint32_t number); // NULL: there is none
// Returns true if BYTES at OFFSET are inside the window and its memory still exists. The caller has
// made its context current.
bool kernel_window_holds(struct kernel_window *window, uint64_t offset, uint64_t bytes);
// A put request of BLOCK is over.
void kernel_window_end_put_request(struct kernel_window *window, uint32_t block);
// Returns the number of signals of TAG that the members' BLOCK has had, or will have had after all
// pending stores; NULL if there is no such tag.
uint32_t *kernel_window_signals(struct kernel_window *window, uint32_t block, int32_t tag);
// The counter for that, as the GPU knows it; and it is written now.
CUdeviceptr kernel_window_counter(const struct kernel_window *window, const uint32_t *signals);
void kernel_window_tell(struct kernel_window *window, const uint32_t *signals);
// Notifies the kernels of all windows that put over that link that their waits will not end.
void kernel_windows_lose(uint32_t peer);
// Returns true if kernels run that may write put requests; queries the driver at intervals. Called
// by the peer_mover's thread.
bool kernel_windows_run(void);
bool kernel_windows_may_run(void); // as it was when the driver was asked last; any thread

// Any thread, without the lock: a kernel was launched in STREAM of CONTEXT, which is current.
extern atomic_bool kernel_windows_open;
void kernel_windows_launched(CUcontext context, CUstream stream);
static inline void kernel_windows_note_launch(CUcontext context, CUstream stream)
{
    if (__builtin_expect(atomic_load_explicit(&kernel_windows_open, memory_order_relaxed), 0))
        kernel_windows_launched(context, stream);
}
// Before requests are served.
void kernel_windows_prepare(void);

#endif

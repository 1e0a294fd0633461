// SPDX-License-Identifier: BSD-3-Clause
// Windows for kernels: memory of this worker's GPU into which kernels of other boxes put, and the
// proxy queue through which kernels here put into windows of other boxes. Kernels can write
// anything into the queue, so a put request is copied before it is checked.
//
// Unless stated otherwise, called with the lock of peer_link.h held.
#ifndef RGPU_WORKER_KERNEL_WINDOWS_H
#define RGPU_WORKER_KERNEL_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"
#include "worker_driver.h"

enum { KERNEL_MEMBERS_MAX = 64 };

struct kernel_window {
    uint32_t number; // number that the client has chosen
    CUcontext context;
    CUdeviceptr base;
    uint64_t size;
    uint32_t blocks, tags;
    uint32_t epoch; // session.memory_epoch when the memory was last checked
    struct wire_proxy_queue *proxy_queue;
    CUdeviceptr counters; // device address of the counters that follow the proxy queue
    uint32_t *signals;    // number of received signals, by block and tag
    unsigned stores;      // puts of other boxes that are being stored
    uint32_t next;        // number of the next put request
    struct wire_put_request put_request; // put request that is being sent; turn 0: none
    uint64_t sent;                       // bytes of it that were sent
    bool reported;                       // an invalid put request was logged
    struct {
        bool is_far;
        uint32_t peer, there; // number of the link, and of the window at its other end
    } members[KERNEL_MEMBERS_MAX];
    struct kernel_window *next_window;
};

extern struct kernel_window *kernel_windows;

struct kernel_window *kernel_window_find(uint32_t number); // NULL: there is none
// Returns true if BYTES at OFFSET are in the window and its memory still exists. Its context must
// be current.
bool kernel_window_holds(struct kernel_window *window, uint64_t offset, uint64_t bytes);
// Counts a completed put request of the thread block BLOCK.
void kernel_window_end_put_request(struct kernel_window *window, uint32_t block);
// Returns the counter of TAG's signals for BLOCK, including those of puts that are being stored.
// NULL: there is no such tag.
uint32_t *kernel_window_signals(struct kernel_window *window, uint32_t block, int32_t tag);
// Return the device address of the counter of SIGNALS, and write that counter to the device.
CUdeviceptr kernel_window_counter(const struct kernel_window *window, const uint32_t *signals);
void kernel_window_tell(struct kernel_window *window, const uint32_t *signals);
// Ends the waits of kernels for puts over the link number PEER, which is lost.
void kernel_windows_lose(uint32_t peer);
// Returns true if kernels run that may write put requests; queries the driver at intervals. Called
// by the peer_mover's thread.
bool kernel_windows_run(void);
// Returns the result of the last query. Thread-safe.
bool kernel_windows_may_run(void);

// Records the launch of a kernel in STREAM of CONTEXT, the current context. Thread-safe; the caller
// must not hold the lock.
extern atomic_bool kernel_windows_open;
void kernel_windows_launched(CUcontext context, CUstream stream);
static inline void kernel_windows_note_launch(CUcontext context, CUstream stream)
{
    if (__builtin_expect(atomic_load_explicit(&kernel_windows_open, memory_order_relaxed), 0))
        kernel_windows_launched(context, stream);
}
// Must be called before requests are served.
void kernel_windows_prepare(void);

#endif

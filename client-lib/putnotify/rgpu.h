// SPDX-License-Identifier: BSD-3-Clause
// librgpu: put and notify between GPUs, and a barrier, in the order of CUDA streams.
// The GPUs may be of one host, of one box, or of several boxes of one lease; the same program runs
// on all of these.
//
// A team has members, numbered from 0; each is a GPU of a process. A window is memory of every
// member into which the others put. A put copies data and then counts up a signal at its target.
// Signals are distinguished by their sender and a tag; a stream waits until a number of signals has
// arrived. All of this is queued and does not wait in the calling thread, unless a function says
// so.
//
// Threads: every function may be called by any thread. What is queued for one stream is done in the
// order of the calls. The caller's current context stays as it is. The program ends each team and
// each window that it has made.
//
// Units: sizes and offsets are bytes, counts are elements. If a rank, a tag, an offset or a size is
// out of range, the call returns an error and queues nothing.
//
// The conventions are those of NVSHMEM (signals), NCCL (windows) and dCUDA (ranks and tags).
// docs/guide/put-notify.md is the manual.
#ifndef RGPU_H
#define RGPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// As in cuda.h, which is not required.
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream; // a cudaStream_t is the same
#if defined(_WIN64) || defined(__LP64__)
typedef unsigned long long CUdeviceptr;
#else
typedef unsigned int CUdeviceptr;
#endif

enum {
    RGPU_MEMBERS_MAX = 64,    // of a team
    RGPU_TAGS_MAX = 256,      // of a window
    RGPU_BLOCKS_MAX = 65535,  // of a kernel
    RGPU_NO_SIGNAL = -1,      // in place of a tag: a put without a signal
    RGPU_COUNT_MAX = 1 << 20, // signals that one call waits for
};

enum rgpu_result {
    RGPU_SUCCESS = 0,
    RGPU_ERROR_INVALID, // an invalid argument
    RGPU_ERROR_RANGE,   // a rank, tag, offset, size or count out of range
    RGPU_ERROR_MEMORY,  // memory has run out, of the host or of a GPU
    RGPU_ERROR_BUSY,    // something queued still uses what was to be freed
    RGPU_ERROR_LOST,    // a member is gone, or the team was ended: it cannot be used any longer
    RGPU_ERROR_NOT_SUPPORTED, // for example in a stream under capture
    RGPU_ERROR_CUDA,          // a call of the driver failed
};

// Returns a sentence about the last failed call of this thread, valid until its next call. Never
// NULL.
const char *rgpu_error_text(void);

struct rgpu_team;
struct rgpu_window;

// ---- teams ----

// Makes a team of GPUs of this process: member i is the GPU of CONTEXTS[i]. Several members may
// have one GPU. Errors: INVALID, RANGE (COUNT not in 1..RGPU_MEMBERS_MAX), MEMORY, CUDA.
enum rgpu_result rgpu_team_create(struct rgpu_team **team, const CUcontext *contexts, int count);

// Makes a team of several processes, which meet by NAME: all of them call this with the same name
// and SIZE, and each has the members FIRST to FIRST + COUNT - 1, on the GPUs of CONTEXTS. Each
// process accesses the GPUs of all members, even those that it does not see; processes of one lease
// can do so. They meet at the lease's boxes or, without a lease, by a file (RGPU_TEAM_DIR in
// librgpu(3)). The name belongs to the lease, or without one to the job, and is free again when all
// have met. Waits for all processes for TIMEOUT_MS milliseconds, or without limit if negative.
// Errors: INVALID (members that another process has, other sizes, a GPU that cannot be accessed,
// nowhere to meet), RANGE, LOST (not all came), MEMORY, CUDA.
enum rgpu_result rgpu_team_rendezvous(struct rgpu_team **team, const char *name, int size,
                                      int first, const CUcontext *contexts, int count,
                                      int timeout_ms);

// Another way to meet, for programs that distribute an id themselves. The process that opens a
// rendezvous calls rgpu_team_rendezvous_at, too, and the others connect to the addresses of its
// host, over TCP. The id contains the key by which processes are admitted, so it is a secret.
// Errors: INVALID, MEMORY.
struct rgpu_rendezvous {
    unsigned char bytes[128];
};
enum rgpu_result rgpu_rendezvous_open(struct rgpu_rendezvous *rendezvous);

// Like rgpu_team_rendezvous, for processes that have the id of RENDEZVOUS. LOST also if the process
// that opened it is gone, or one that has joined.
enum rgpu_result rgpu_team_rendezvous_at(struct rgpu_team **team,
                                         const struct rgpu_rendezvous *rendezvous, int size,
                                         int first, const CUcontext *contexts, int count,
                                         int timeout_ms);

// Exchanges EACH bytes per member in a team of several processes. OWN has the bytes of this
// process's members, ALL becomes those of all members. All processes call it, and wait for each
// other. Errors: INVALID, LOST.
enum rgpu_result rgpu_team_exchange(struct rgpu_team *team, const void *own, void *all,
                                    size_t each);

// Ends a team with all of its windows, and sets *TEAM to NULL. Waits that are still queued end as
// by rgpu_team_abort; this returns after all queued work. All processes of a team call this, and
// each waits until the others have called it and their queued work is done, unless a process is
// gone. A team that is NULL is ended already.
void rgpu_team_destroy(struct rgpu_team **team);

int rgpu_team_size(const struct rgpu_team *team);  // members
int rgpu_team_first(const struct rgpu_team *team); // the first member that is of this process
int rgpu_team_local(const struct rgpu_team *team); // number of this process's members

// Returns RGPU_SUCCESS, or RGPU_ERROR_LOST once a member is gone, which the error text then names.
// A team that has lost a member ends all waits within a second or two, so that none lasts forever.
// So synchronize the stream and call this before you use data that the stream has waited for.
enum rgpu_result rgpu_team_check(struct rgpu_team *team);

// Makes the team unusable: waits for signals end, and every later call returns RGPU_ERROR_LOST.
void rgpu_team_abort(struct rgpu_team *team);

// ---- windows ----

// Registers memory of all members, into which the others put: BASES[i] and SIZES[i] belong to the
// process's member i (counted from its first). The sizes may differ, and be 0. The caller owns the
// memory, has allocated it by cuMemAlloc or an equivalent call (cudaMalloc), and must not free it
// before the window. The TAGS signals from each member to each other (1..RGPU_TAGS_MAX) begin with
// 0. All processes of a team make the same windows in the same order, and wait for each other.
// Errors: INVALID (no such memory), RANGE, MEMORY, LOST, CUDA.
enum rgpu_result rgpu_window_register(struct rgpu_team *team, const CUdeviceptr *bases,
                                      const size_t *sizes, int tags, struct rgpu_window **window);

// Frees the window, and sets *WINDOW to NULL. All processes of a team call it, and wait for each
// other. Errors: BUSY if a queued put or wait is not done: then the window stays as it is. LOST:
// the window is freed, but the team is lost.
enum rgpu_result rgpu_window_free(struct rgpu_window **window);

// ---- put and notify ----
// FROM and AT are members of this process, STREAM belongs to their context.

// Copies BYTES from SOURCE, memory of the member FROM, to OFFSET of the window of the member TO,
// and then counts up the signal TAG of FROM there. The target sees the data if it sees the signal.
// With BYTES of 0 it is a signal only; with RGPU_NO_SIGNAL a copy only, which the next signal in
// the same stream covers. Later work in STREAM may reuse SOURCE. Puts with one tag from one member
// to another happen in the order of the calls, in whatever streams they are. Errors: RANGE,
// NOT_SUPPORTED (capture), LOST, CUDA.
enum rgpu_result rgpu_put_signal_async(struct rgpu_window *window, int from, int to, size_t offset,
                                       CUdeviceptr source, size_t bytes, int tag, CUstream stream);

// STREAM waits until COUNT further signals TAG of the member FROM have arrived at the member AT.
// Each signal ends one wait: two waits for one signal equal one wait for two. COUNT:
// 1..RGPU_COUNT_MAX. Errors as above.
enum rgpu_result rgpu_signal_wait_async(struct rgpu_window *window, int at, int from, int tag,
                                        int count, CUstream stream);

// ---- kernels ----

// Opens a window for kernels of BLOCKS blocks (1..RGPU_BLOCKS_MAX) that use rgpu_device.h. A window
// is opened once. HANDLES[i] is the argument for the kernel of member i: memory of its GPU that is
// freed with the window. Signals of kernels are separate from those of streams. All kernels must
// end before the window is freed. Members may be in several boxes, which then execute the puts
// between them. Errors: RANGE, INVALID (it is open), NOT_SUPPORTED (several processes, or GPUs
// without access to each other's memory that are in no box), MEMORY, CUDA.
enum rgpu_result rgpu_window_open_device(struct rgpu_window *window, int blocks,
                                         CUdeviceptr *handles);

// ---- barrier ----

// No stream continues before all members' streams have reached the barrier. Every process of the
// team calls this in the same order of its calls for the team; STREAMS has one stream for each of
// its members. Errors as above. For collectives use NCCL's calls (rgpu-nccl(7)), which are made of
// puts and signals as well.
enum rgpu_result rgpu_barrier_async(struct rgpu_team *team, const CUstream *streams);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-3-Clause
// librgpu: put and notify between GPUs, and a barrier, in the order of CUDA streams. The same
// program runs on GPUs of its own host, of one box (a host with GPUs that rgpu serves), or of
// several boxes of one lease (the GPUs that rgpu's broker has granted to a job).
//
// A team has members, numbered from 0 by their rank. Each member is a GPU of one process. A window
// is memory of every member into which the other members put. A put copies data into the window of
// its target, and then adds 1 to a signal there. A signal is a counter; each pair of sender and
// target has one for each tag, an integer from 0 on. A stream can wait until a number of signals
// has arrived. Puts, waits and barriers are queued in streams, and the call returns at once. The
// other functions may wait, where their comments say so.
//
// Threads: all functions are thread-safe. The work of one stream is executed in the order of the
// calls. No function changes the caller's current context. The program owns the teams and windows
// that it makes: rgpu_team_destroy frees a team with its windows, rgpu_window_free a single window.
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
    RGPU_MEMBERS_MAX = 64,    // most members of a team
    RGPU_TAGS_MAX = 256,      // most tags of a window
    RGPU_BLOCKS_MAX = 65535,  // most blocks of a kernel that uses a window
    RGPU_NO_SIGNAL = -1,      // as a tag: the put sends no signal
    RGPU_COUNT_MAX = 1 << 20, // most signals that one call waits for
};

enum rgpu_result {
    RGPU_SUCCESS = 0,
    RGPU_ERROR_INVALID,       // an invalid argument
    RGPU_ERROR_RANGE,         // a rank, tag, offset, size or count out of range
    RGPU_ERROR_MEMORY,        // memory of the host or of a GPU is exhausted
    RGPU_ERROR_BUSY,          // queued work still uses the object that was to be freed
    RGPU_ERROR_LOST,          // a member is gone, or the team was aborted: the team is unusable
    RGPU_ERROR_NOT_SUPPORTED, // for example in a stream under capture
    RGPU_ERROR_CUDA,          // a call of the driver failed
};

// Returns a sentence about the last failed call of this thread. The text is valid until the
// thread's next call of this library, and is never NULL.
const char *rgpu_error_text(void);

struct rgpu_team;
struct rgpu_window;

// ---- teams ----

// Makes a team of COUNT members, all of this process. Member i is the GPU of CONTEXTS[i]; the
// contexts must outlive the team. Several members may use one GPU. On an error *TEAM stays as it
// is. Errors: INVALID, RANGE (COUNT not in 1..RGPU_MEMBERS_MAX), MEMORY, CUDA.
enum rgpu_result rgpu_team_create(struct rgpu_team **team, const CUcontext *contexts, int count);

// Makes a team of SIZE members in several processes. All processes call this with the same NAME and
// SIZE, and wait for each other. This process has the members FIRST to FIRST + COUNT - 1, on the
// GPUs of CONTEXTS[0] to CONTEXTS[COUNT - 1]. Each process needs access to the GPUs of all members,
// even if CUDA does not list them there; processes of one lease have that access. The processes
// find each other at the lease's boxes or, without a lease, by a file (RGPU_TEAM_DIR in
// librgpu(3)). A name is unique in the lease, or without one in the job, and can be used again when
// all processes have joined. Waits up to TIMEOUT_MS milliseconds, or without limit if that is
// negative. Errors: INVALID (another team of that name is forming, a GPU cannot be accessed, or
// neither boxes nor a file can be used), RANGE, LOST (not all processes came in time, another
// process has one of the members, or its SIZE differs), MEMORY, CUDA.
enum rgpu_result rgpu_team_rendezvous(struct rgpu_team **team, const char *name, int size,
                                      int first, const CUcontext *contexts, int count,
                                      int timeout_ms);

// The id of a rendezvous, for programs that distribute it to their processes, for example by MPI.
// One process opens the rendezvous and listens for TCP connections. All processes, that one
// included, then call rgpu_team_rendezvous_at with the id. It contains the key by which processes
// are admitted, so keep it secret. It serves for one team. Errors: INVALID, MEMORY.
struct rgpu_rendezvous {
    unsigned char bytes[128];
};
enum rgpu_result rgpu_rendezvous_open(struct rgpu_rendezvous *rendezvous);

// Does the same as rgpu_team_rendezvous, with the id of a rendezvous instead of a name. Returns
// LOST also if the process that opened the rendezvous, or one that has joined, is gone.
enum rgpu_result rgpu_team_rendezvous_at(struct rgpu_team **team,
                                         const struct rgpu_rendezvous *rendezvous, int size,
                                         int first, const CUcontext *contexts, int count,
                                         int timeout_ms);

// Exchanges EACH bytes of host memory per member. OWN has the bytes of this process's members, in
// their order. ALL receives the bytes of all members of the team. All processes call this, and wait
// for each other. Errors: INVALID, LOST.
enum rgpu_result rgpu_team_exchange(struct rgpu_team *team, const void *own, void *all,
                                    size_t each);

// Ends the team as rgpu_team_destroy does, but keeps its memory, so that the caller can choose when
// to free it: freeing waits for all work of the contexts. Afterwards only rgpu_team_destroy may be
// called. Does nothing if TEAM is NULL.
void rgpu_team_leave(struct rgpu_team *team);

// Frees a team with all its windows, and sets *TEAM to NULL. Waits that are still queued end as
// after rgpu_team_abort. The function returns when all queued work is done. All processes of a team
// call it, and each waits until the queued work of the others is done as well, unless a process is
// gone. Does nothing if *TEAM is NULL.
void rgpu_team_destroy(struct rgpu_team **team);

int rgpu_team_size(const struct rgpu_team *team);  // number of members
int rgpu_team_first(const struct rgpu_team *team); // rank of this process's first member
int rgpu_team_local(const struct rgpu_team *team); // number of this process's members

// Returns RGPU_SUCCESS, or RGPU_ERROR_LOST once a member is gone, which the error text then names.
// After such a loss the library ends all queued waits within two seconds, although the signals have
// not arrived. So synchronize the stream and call this before you use data for which the stream has
// waited.
enum rgpu_result rgpu_team_check(struct rgpu_team *team);

// Makes the team unusable, in all processes: queued waits for signals end, and every later call
// except rgpu_team_destroy returns RGPU_ERROR_LOST. Does not wait.
void rgpu_team_abort(struct rgpu_team *team);

// ---- windows ----

// Makes a window of memory of all members. BASES[i] and SIZES[i] are the address and the bytes of
// the memory of this process's member i, counted from its first. Sizes may differ, and may be 0.
// The caller owns the memory, has allocated it by cuMemAlloc or an equivalent call (cudaMalloc),
// and must not free it before the window. Each member has TAGS signals to each other member, with
// the tags 0 to TAGS - 1, which begin with 0 (TAGS: 1..RGPU_TAGS_MAX). All processes of a team make
// the same windows in the same order, and wait for each other. Errors: INVALID (BASES has no such
// memory, or another process fails), RANGE, MEMORY, LOST, CUDA.
enum rgpu_result rgpu_window_register(struct rgpu_team *team, const CUdeviceptr *bases,
                                      const size_t *sizes, int tags, struct rgpu_window **window);

// Frees the window, and sets *WINDOW to NULL. All processes of a team call this, and wait for each
// other. Errors: BUSY (a queued put or wait is not done; the window is not freed), LOST (the team
// is lost; the window is freed).
enum rgpu_result rgpu_window_free(struct rgpu_window **window);

// ---- put and notify ----
// FROM and AT are members of this process. STREAM belongs to the context that the program gave for
// that member.

// Queues a put in STREAM: copies BYTES from SOURCE, memory of the member FROM, to OFFSET of the
// window of the member TO, and then adds 1 to FROM's signal TAG there. A target that sees the
// signal sees the data. If BYTES is 0, only the signal is sent. If TAG is RGPU_NO_SIGNAL, only the
// data are copied; a target that sees the next signal of the same stream sees them. Later work in
// STREAM may overwrite SOURCE. Puts with the same tag from one member to another are executed in
// the order of the calls, even in different streams. Errors: INVALID, RANGE, NOT_SUPPORTED (STREAM
// is under capture), LOST, CUDA.
enum rgpu_result rgpu_put_signal_async(struct rgpu_window *window, int from, int to, size_t offset,
                                       CUdeviceptr source, size_t bytes, int tag, CUstream stream);

// Queues a wait in STREAM until COUNT further signals TAG of the member FROM have arrived at the
// member AT. Waits use signals up: two waits for one signal equal one wait for two. COUNT:
// 1..RGPU_COUNT_MAX. Errors: as rgpu_put_signal_async.
enum rgpu_result rgpu_signal_wait_async(struct rgpu_window *window, int at, int from, int tag,
                                        int count, CUstream stream);

// ---- kernels ----

// Opens a window for kernels of BLOCKS blocks (1..RGPU_BLOCKS_MAX) that use rgpu_device.h, once for
// each window. Sets HANDLES[i] to the kernel argument (struct rgpu_device_window *) of member i, in
// memory of its GPU. The window owns that memory; all kernels must end before the window is freed.
// Kernels and streams have separate signals. Members may be in several boxes, which then execute
// the puts between them. Errors: RANGE, INVALID (the window is open for kernels already),
// NOT_SUPPORTED (the team has several processes, or GPUs that are in no box cannot access each
// other's memory), MEMORY, LOST, CUDA.
enum rgpu_result rgpu_window_open_device(struct rgpu_window *window, int blocks,
                                         CUdeviceptr *handles);

// ---- barrier ----

// Queues a barrier: no stream continues before the streams of all members have reached the barrier.
// Every process of the team calls this, and makes all its barriers in the same order. STREAMS[i] is
// a stream of this process's member i, counted from its first. Errors: as rgpu_put_signal_async.
// For collectives use NCCL's calls (rgpu-nccl(7)), which rgpu makes of puts and signals.
enum rgpu_result rgpu_barrier_async(struct rgpu_team *team, const CUstream *streams);

#ifdef __cplusplus
}
#endif
#endif

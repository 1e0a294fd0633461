// SPDX-License-Identifier: BSD-3-Clause
// librgpu: put and notify between GPUs, and collectives made of that, in the order of CUDA streams. The GPUs may be of
// one host, of one box, or of several boxes of one lease; the same program runs on all of these.
//
// A team has members, numbered from 0; each is a GPU of a process. A window is memory of every member into which the
// others put. A put copies and then counts up a signal at its target, which is told apart by who sent it and by a tag;
// a stream waits until so many signals have come. All of it is queued and none of it waits in the calling thread,
// unless it says so.
//
// Threads: every function may be called by any thread. What is queued for one stream is done in the order of the calls.
// The caller's current context stays as it is. A team and its windows belong to who made them, who ends them.
//
// Units: sizes and offsets are bytes, counts are elements. What is queued is an error where a rank, a tag, an offset or a
// size is out of range, and then nothing of it is done.
//
// The conventions are those of NVSHMEM (signals), NCCL (windows) and dCUDA (ranks and tags). docs/put-notify.md is the
// manual.
#ifndef RGPU_H
#define RGPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// As in cuda.h, which need not be there.
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
    RGPU_NO_SIGNAL = -1,      // in place of a tag: a put that nobody is told of
    RGPU_COUNT_MAX = 1 << 20, // signals that one call waits for
};

enum rgpu_result {
    RGPU_SUCCESS = 0,
    RGPU_ERROR_INVALID, // an argument that makes no sense
    RGPU_ERROR_RANGE,   // a rank, tag, offset, size or count that there is not
    RGPU_ERROR_MEMORY,  // memory has run out, of the host or of a GPU
    RGPU_ERROR_BUSY,    // something queued still uses what was to be freed
    RGPU_ERROR_LOST,    // a member is gone, or the team was ended: nothing more can be done with it
    RGPU_ERROR_NOT_SUPPORTED, // in a stream that is captured, for instance
    RGPU_ERROR_CUDA,          // a call of the driver failed
};

// What the last call of this thread that failed has to say: a sentence, valid until its next call. Never NULL.
const char *rgpu_error_text(void);

struct rgpu_team;
struct rgpu_window;

// ---- teams ----

// A team of GPUs of this process: member i is the GPU of CONTEXTS[i]. Several members may have one GPU. Loads kernels and
// takes some 4 MiB of each GPU. Waits until that is done.
// Errors: INVALID, RANGE (COUNT not in 1..RGPU_MEMBERS_MAX), MEMORY, CUDA.
enum rgpu_result rgpu_team_create(struct rgpu_team **team, const CUcontext *contexts, int count);

// A team of several processes, which meet by NAME: all of them call this with the same name and SIZE, and each has the
// members FIRST to FIRST + COUNT - 1, on the GPUs of CONTEXTS. Each process reaches the GPUs of all members, as the processes of
// one lease do, whether it sees them or not. They meet at the lease's boxes, or by a file where there is no lease (RGPU_TEAM_DIR in librgpu(3)). The name
// belongs to the lease, or to the job where there is none, and is free again when all have met. Waits for that for TIMEOUT_MS
// milliseconds, or as long as it takes if negative.
// Errors: INVALID (members that another process has, other sizes, a GPU that is not seen, nowhere to meet), RANGE, LOST (not all
// came), MEMORY, CUDA.
enum rgpu_result rgpu_team_meet(struct rgpu_team **team, const char *name, int size, int first,
                                const CUcontext *contexts, int count, int timeout_ms);

// Another way to meet, for programs that pass an id on by themselves: the process that opens a meeting calls
// rgpu_team_meet_at, too, and the others reach it at the addresses of its host, over TCP. The id has a key with which they
// prove that they know it: it is a secret. Errors: INVALID, MEMORY.
struct rgpu_meeting {
    unsigned char bytes[128];
};
enum rgpu_result rgpu_meeting_open(struct rgpu_meeting *meeting);

// As rgpu_team_meet, for who has the id of MEETING. LOST also if the process that opened it is gone, or one that has come.
enum rgpu_result rgpu_team_meet_at(struct rgpu_team **team, const struct rgpu_meeting *meeting,
                                   int size, int first, const CUcontext *contexts, int count,
                                   int timeout_ms);

// What all members of a team of several processes have to tell each other: EACH bytes per member, of which OWN are those of
// this process's and ALL becomes everybody's. All processes call it, and wait for each other. Errors: INVALID, LOST.
enum rgpu_result rgpu_team_exchange(struct rgpu_team *team, const void *own, void *all,
                                    size_t each);

// Ends a team with all of its windows, and sets *TEAM to NULL. What is still queued is let go as by rgpu_team_abort, and
// waited for. A team of several processes is ended by all of them, and each waits until the others have come to this and
// what they queued is over; where one is gone they do not. A team that is NULL is ended already.
void rgpu_team_destroy(struct rgpu_team **team);

int rgpu_team_size(const struct rgpu_team *team);  // members
int rgpu_team_first(const struct rgpu_team *team); // the first member that is of this process
int rgpu_team_local(const struct rgpu_team *team); // how many are

// RGPU_SUCCESS, or RGPU_ERROR_LOST once a member is gone: then the text names it. What is to be believed of data that a
// stream has waited for, is to be asked after the stream has been synchronized: a team that has lost a member lets all waits
// go, within a second or two, so that nobody waits for ever.
enum rgpu_result rgpu_team_check(struct rgpu_team *team);

// The team is of no use any more: what waits for signals goes on, and every later call returns RGPU_ERROR_LOST.
void rgpu_team_abort(struct rgpu_team *team);

// ---- windows ----

// Memory of all members, into which the others put: BASES[i] and SIZES[i] are of the process's member i (counted from
// its first). The sizes may differ, and be 0. The memory stays the caller's, has been allocated by cuMemAlloc or a call that
// does the same (cudaMalloc), and must not be freed before the window. TAGS signals from each member to each
// other (1..RGPU_TAGS_MAX) begin with 0. All processes of a team make the same windows in the same order, and
// wait for each other.
// Errors: INVALID (no such memory), RANGE, MEMORY, LOST, CUDA.
enum rgpu_result rgpu_window_register(struct rgpu_team *team, const CUdeviceptr *bases,
                                      const size_t *sizes, int tags, struct rgpu_window **window);

// Sets *WINDOW to NULL. All processes of a team call it, and wait for each other. Errors: BUSY where a put or a wait that was queued is not over: then the window is as it was. LOST: it
// is freed, and the team is of no use.
enum rgpu_result rgpu_window_free(struct rgpu_window **window);

// ---- put and notify ----
// FROM and AT are members of this process, STREAM belongs to their context.

// Copies BYTES from SOURCE, memory of the member FROM, to OFFSET of the window of the member TO, and then counts up the
// signal TAG of FROM there. The target sees the data if it sees the signal. With BYTES of 0 it is a signal only; with
// RGPU_NO_SIGNAL a copy only, which the next signal in the same stream covers. SOURCE may be used again behind it in STREAM.
// Puts with one tag from one member to another happen in the order of the calls, in whatever streams they are.
// Errors: RANGE, NOT_SUPPORTED (capture), LOST, CUDA.
enum rgpu_result rgpu_put_signal_async(struct rgpu_window *window, int from, int to, size_t offset,
                                       CUdeviceptr source, size_t bytes, int tag, CUstream stream);

// STREAM waits until COUNT further signals TAG of the member FROM have come to the member AT. Each signal is waited for
// once: two waits for one each are as good as one for two. COUNT: 1..RGPU_COUNT_MAX. Errors as above.
enum rgpu_result rgpu_signal_wait_async(struct rgpu_window *window, int at, int from, int tag,
                                        int count, CUstream stream);

// ---- kernels ----

// Opens a window for kernels of BLOCKS blocks (1..RGPU_BLOCKS_MAX) that use rgpu_device.h, once: HANDLES[i] is what the kernel
// of member i gets, memory of its GPU that is freed with the window. Their signals are others than the streams'. The kernels
// are over before the window is freed. Where members are in several boxes, these take part.
// Errors: RANGE, INVALID (it is open), NOT_SUPPORTED (several processes, and GPUs that do not reach each other's memory and are in no
// box), MEMORY, CUDA.
enum rgpu_result rgpu_window_open_device(struct rgpu_window *window, int blocks,
                                         CUdeviceptr *handles);

// ---- collectives ----
// Every process of the team calls the same ones in the same order; STREAMS has one stream for each of its members.
// Errors as above; INVALID for a type or an operation that there is not.

enum rgpu_type {
    RGPU_INT32,
    RGPU_UINT32,
    RGPU_INT64,
    RGPU_UINT64,
    RGPU_FLOAT16,
    RGPU_BFLOAT16,
    RGPU_FLOAT32,
    RGPU_FLOAT64,
};
enum rgpu_operation { RGPU_SUM, RGPU_PRODUCT, RGPU_MINIMUM, RGPU_MAXIMUM };

// No stream goes on before all have come here.
enum rgpu_result rgpu_barrier_async(struct rgpu_team *team, const CUstream *streams);

// BYTES at OFFSET of the root's window come to the same place of everybody's.
enum rgpu_result rgpu_broadcast_async(struct rgpu_window *window, int root, size_t offset,
                                      size_t bytes, const CUstream *streams);

// Member i has BYTES at OFFSET + i * BYTES of its window; then everybody has all of them there.
enum rgpu_result rgpu_all_gather_async(struct rgpu_window *window, size_t offset, size_t bytes,
                                       const CUstream *streams);

// COUNT numbers at OFFSET of the windows (a multiple of their size) become the sum, or whatever OPERATION is, of all
// members'. A ring: each member sends and receives 2 (n-1)/n of the data. Everybody gets the same bits.
enum rgpu_result rgpu_all_reduce_async(struct rgpu_window *window, size_t offset, size_t count,
                                       enum rgpu_type type, enum rgpu_operation operation,
                                       const CUstream *streams);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-3-Clause
// Interpreter of compiled code. A host thread runs a block and lets its warps take turns. A warp is
// a set of splits; a split is a group of lanes at the same instruction of the same frame. All state
// is in these structures, none on the host's stack, so a warp can stop at any instruction and
// continue later.
#ifndef RGPU_SIM_PTX_EXEC_H
#define RGPU_SIM_PTX_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "sim/ptx/compiled_module.h"

#define ALL_LANES UINT32_MAX
#define BARRIERS 16
#define MAX_WARPS 32

// Loop iterations of a warp until other warps get a turn. Operations that spin loops use cost more,
// so a warp that waits for another one soon gives way.
#define WARP_BUDGET 20000
#define ATOMIC_COST 200
#define ORDERED_COST 50

struct frame {
    struct frame *parent; // caller's frame; of an unused frame, link of the free list
    const struct ptx_function *function;
    const struct call_op *call;
    uint32_t return_pc;
    uint32_t lanes; // mask of lanes in this frame or in frames that it called
    uint32_t depth;
    uint32_t local_base; // byte offset in each lane's local memory
    unsigned size_class;
    char *regs;
};

enum split_state {
    SPLIT_RUNNABLE,
    SPLIT_BARRIER,   // waits at a barrier of the block (bar)
    SPLIT_WARP_SYNC, // waits for other lanes of its warp
};

struct split {
    struct frame *frame;
    uint32_t pc;
    uint32_t mask;
    enum split_state state;
    uint32_t barrier;
    uint32_t turn; // value of warp.turn when it last ran
};

struct warp {
    struct thread_block *block;
    uint32_t index;
    uint32_t live;  // mask of lanes that have not exited
    uint32_t lanes; // mask of lanes that exist
    int32_t budget;
    uint32_t turn;
    bool rotate;     // next, run the split that has waited longest
    bool force_sync; // warp-wide instructions do not wait for missing lanes
    bool blocked;
    struct split splits[LANES];
    unsigned split_count;
    struct frame *frame; // frame of the running split
    char *bases[4];      // base addresses, by enum ref_base
    char *special;       // WARP_BYTES bytes
};

struct barrier {
    uint32_t arrived[MAX_WARPS];
    uint32_t expected; // number of threads; 0: all threads of the block
    bool in_use;
    uint32_t count_true; // bar.red: threads with a true predicate
    uint32_t any_false;
};

struct range_cache {
    uint64_t base, end;
};
#define CACHED_RANGES 8

// Textures and surfaces that a host thread has looked up during this launch.
struct image_cache {
    uint64_t handle;
    const struct texture *texture; // NULL if the entry is a surface
    const struct surface *surface;
};
#define CACHED_IMAGES 16

struct thread_block {
    struct worker *worker;
    struct grid *grid;
    uint32_t id[3];
    struct warp *warps;
    uint32_t warp_count;
    uint32_t running; // number of warps with live lanes
    struct barrier barriers[BARRIERS];
    char *shared;
    uint64_t shared_size;
    char *local;
    char *launch_special; // LAUNCH_BYTES bytes
    struct thread_block *next;
};

// A host thread that runs blocks. Its memory is kept between launches.
#define SIZE_CLASSES 28
struct worker {
    struct worker *next; // link of the list of idle workers
    struct grid *grid;
    struct range_cache ranges[CACHED_RANGES];
    unsigned range_at;
    struct image_cache images[CACHED_IMAGES];
    unsigned image_at;
    struct frame *free_frames[SIZE_CLASSES];
    struct thread_block *blocks;      // unused blocks
    size_t block_shared, block_local; // bytes of each unused block
    uint32_t block_warps;
};

// One launch.
struct grid {
    const struct ptx_launch *launch;
    struct ptx_function *function;
    struct ptx_module *module;
    uint64_t block_total;
    _Atomic uint64_t next_block;
    uint32_t threads, warps; // threads and warps of a block
    uint64_t shared_size;
    uint64_t lane_local; // bytes of local memory per thread
    uint64_t dynamic_offset;
    const void *params;
    uint64_t id;
    unsigned thread_count;  // maximum host threads
    uint32_t sync_words[8]; // state of the grid-wide barrier
    uint64_t sync_address;
    _Atomic bool stop;
    atomic_flag fault_taken;
    struct ptx_fault fault;
    int result;
    // helper threads of the pool
    unsigned helpers_wanted;
    unsigned helpers;
    struct grid *next_waiting;
};

enum run_result { RUN_BLOCKED, RUN_DONE, RUN_YIELD, RUN_STOP };

// warp.c
void warp_start(struct warp *w, struct frame *frame, uint32_t lanes);
enum run_result warp_run(struct warp *w);

// split.c: adds lanes that continue at PC; merges them with a split at the same instruction
void warp_add_split(struct warp *w, struct frame *frame, uint32_t pc, uint32_t mask);

// frames.c
struct frame *frame_take(struct worker *worker, const struct ptx_function *function);
void frame_give(struct worker *worker, struct frame *frame);
// Moves lanes to a new frame, or runs a builtin function. *left receives the lanes whose indirect
// call has another target; they stay at the call. Returns false after a fault.
bool call_enter(struct warp *w, const struct insn *in, uint32_t pc, uint32_t mask, uint32_t *left,
                bool *entered);
void call_return(struct warp *w, uint32_t mask);
void lanes_exit(struct warp *w, struct frame *frame, uint32_t mask);

// barrier.c; barrier_arrive returns true if the lanes may continue
bool barrier_arrive(struct warp *w, const struct insn *in, uint32_t mask);
void barrier_recheck(struct thread_block *block);

// checked_access.c, atomic.c
bool exec_load(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_store(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_atomic(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_cp_async(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_mbarrier(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_cp_bulk(struct warp *w, const struct insn *in, uint32_t mask);
void exec_isspacep(struct warp *w, const struct insn *in, uint32_t mask);
// Computes the host addresses of all lanes and checks those of the lanes in MASK. The other lanes
// get the address of a lane in MASK.
struct address_scan;
bool memory_resolve(struct warp *w, const struct insn *in, const struct memory_op *m, uint32_t ref,
                    uint32_t mask, struct address_scan *addresses);
// Returns the host address for a lane's generic address, and in *size the accessible bytes; NULL if
// there are none.
char *memory_at(struct warp *w, unsigned lane, uint64_t address, size_t *size);

// image_access.c; images_release empties the image cache of a host thread
bool exec_texture(struct warp *w, const struct insn *in, uint32_t mask);
bool exec_surface(struct warp *w, const struct insn *in, uint32_t mask);
void exec_image_query(struct warp *w, const struct insn *in, uint32_t mask);
void images_release(struct worker *worker);
// atomic.c
void atomic_reduce(enum atom_op op, enum type type, void *at, uint64_t value);

// lanes.c: exchanges between the lanes of a warp
void exec_lanes(struct warp *w, const struct insn *in, uint32_t mask);

// device_functions.c
bool exec_builtin(struct warp *w, const struct insn *in, enum builtin builtin, uint32_t mask);

// kernel_fault.c
__attribute__((format(printf, 6, 7))) bool fault_raise(struct warp *w, const struct insn *in,
                                                       enum ptx_fault_kind kind, unsigned lane,
                                                       uint64_t address, const char *fmt,
                                                       ...); // always returns false

static inline char *ref_at(const struct warp *w, uint32_t ref)
{
    return w->bases[REF_BASE(ref)] + REF_OFFSET(ref);
}

static inline uint32_t first_lane(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

// Returns a lane's local memory.
static inline char *lane_local(const struct warp *w, unsigned lane)
{
    return w->block->local + (w->index * LANES + lane) * w->block->grid->lane_local;
}

// Write the register REF, only for lanes in MASK.
void write_word(struct warp *w, uint32_t ref, uint32_t mask, const uint32_t values[LANES]);
void write_pred(struct warp *w, uint32_t ref, uint32_t mask, uint32_t value);

#endif

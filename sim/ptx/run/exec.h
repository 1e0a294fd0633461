// SPDX-License-Identifier: BSD-3-Clause
// Executes compiled code. One host thread runs a block and gives its warps turns. A warp is a set
// of splits; each split is a group of lanes at one instruction of one frame. These structures hold
// all state, and the host's stack none, so a warp can stop at any instruction and continue later.
#ifndef RGPU_SIM_PTX_EXEC_H
#define RGPU_SIM_PTX_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "sim/ptx/compiled_module.h"

#define ALL_LANES UINT32_MAX
#define BARRIERS 16
#define MAX_WARPS 32

// Loop iterations that a warp may run before others get a turn. Operations typical of spin loops
// cost more, so a lane or warp that waits for another soon yields.
#define WARP_BUDGET 20000
#define ATOMIC_COST 200
#define ORDERED_COST 50

struct frame {
    struct frame *parent; // or, while unused, the next of the free list
    const struct ptx_function *function;
    const struct call_op *call;
    uint32_t return_pc;
    uint32_t lanes; // lanes in this frame or in a frame that it called
    uint32_t depth;
    uint32_t local_base; // bytes into each lane's local memory
    unsigned size_class;
    char *regs;
};

enum split_state {
    SPLIT_RUNNABLE,
    SPLIT_BARRIER,   // waits at a barrier of the block
    SPLIT_WARP_SYNC, // waits for other lanes of the warp
};

struct split {
    struct frame *frame;
    uint32_t pc;
    uint32_t mask;
    enum split_state state;
    uint32_t barrier;
    uint32_t turn; // when it last ran
};

struct warp {
    struct thread_block *block;
    uint32_t index;
    uint32_t live;  // lanes that have not exited
    uint32_t lanes; // lanes that exist
    int32_t budget;
    uint32_t turn;
    bool rotate;     // the split that has waited longest runs next
    bool force_sync; // warp-wide instructions no longer wait for missing lanes
    bool blocked;
    struct split splits[LANES];
    unsigned split_count;
    struct frame *frame; // of the running split
    char *bases[4];      // by enum ref_base
    char *special;       // WARP_BYTES
};

struct barrier {
    uint32_t arrived[MAX_WARPS];
    uint32_t expected; // threads; 0 for all of the block
    bool in_use;
    uint32_t count_true; // of bar.red
    uint32_t any_false;
};

struct range_cache {
    uint64_t base, end;
};
#define CACHED_RANGES 8

// Textures and surfaces that a host thread has looked up in this launch.
struct image_cache {
    uint64_t handle;
    const struct texture *texture; // either this
    const struct surface *surface;
};
#define CACHED_IMAGES 16

struct thread_block {
    struct worker *worker;
    struct grid *grid;
    uint32_t id[3];
    struct warp *warps;
    uint32_t warp_count;
    uint32_t running; // warps with live lanes
    struct barrier barriers[BARRIERS];
    char *shared;
    uint64_t shared_size;
    char *local;
    char *launch_special; // LAUNCH_BYTES
    struct thread_block *next;
};

// The state of a host thread that runs blocks; kept between launches.
#define SIZE_CLASSES 28
struct worker {
    struct worker *next; // in the idle list
    struct grid *grid;
    struct range_cache ranges[CACHED_RANGES];
    unsigned range_at;
    struct image_cache images[CACHED_IMAGES];
    unsigned image_at;
    struct frame *free_frames[SIZE_CLASSES];
    struct thread_block *blocks;      // idle contexts
    size_t block_shared, block_local; // bytes of each idle context
    uint32_t block_warps;
};

// One launch.
struct grid {
    const struct ptx_launch *launch;
    struct ptx_function *function;
    struct ptx_module *module;
    uint64_t block_total;
    _Atomic uint64_t next_block;
    uint32_t threads, warps; // of a block
    uint64_t shared_size;
    uint64_t lane_local; // bytes of local memory per thread
    uint64_t dynamic_offset;
    const void *params;
    uint64_t id;
    unsigned thread_count;  // host threads to use
    uint32_t sync_words[8]; // of grid-wide synchronization
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

// split.c: adds lanes that continue at PC; joins them with a split that is there already
void warp_add_split(struct warp *w, struct frame *frame, uint32_t pc, uint32_t mask);

// frames.c
struct frame *frame_take(struct worker *worker, const struct ptx_function *function);
void frame_give(struct worker *worker, struct frame *frame);
// Moves lanes into a new frame, or runs a builtin. *left receives the lanes that call another
// function and stay at the call. Returns false after a fault.
bool call_enter(struct warp *w, const struct insn *in, uint32_t pc, uint32_t mask, uint32_t *left,
                bool *entered);
void call_return(struct warp *w, uint32_t mask);
void lanes_exit(struct warp *w, struct frame *frame, uint32_t mask);

// barrier.c
// Returns true if the lanes may continue.
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
// Computes the host addresses of all lanes and checks those in the mask; other lanes get an address
// of an active lane.
struct address_scan;
bool memory_resolve(struct warp *w, const struct insn *in, const struct memory_op *m, uint32_t ref,
                    uint32_t mask, struct address_scan *addresses);
// Returns the host address of a lane's generic address and the accessible bytes in *size; NULL if
// not accessible.
char *memory_at(struct warp *w, unsigned lane, uint64_t address, size_t *size);

// image_access.c: textures and surfaces. images_release drops those that a host thread has looked
// up.
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

// Returns a lane's local memory in this block.
static inline char *lane_local(const struct warp *w, unsigned lane)
{
    return w->block->local + (w->index * LANES + lane) * w->block->grid->lane_local;
}

void write_word(struct warp *w, uint32_t ref, uint32_t mask, const uint32_t values[LANES]);
void write_pred(struct warp *w, uint32_t ref, uint32_t mask, uint32_t value);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The pool in memory: boxes, GPUs, leases, and the hold of each lease on each of its GPUs. The pool
// is loaded from the database at start and changes only after a database commit. It is independent
// of SQL and HTTP. For one thread only.
#ifndef RGPU_BROKER_POOL_H
#define RGPU_BROKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#define POOL_NAME_MAX 128
#define GPU_MODEL_MAX 255
#define POOL_PATTERN_MAX 96
#define POOL_NEAR_MAX 256
#define REQUEST_PARTS_MAX 8
#define REQUEST_GPUS_MAX 1024
#define POOL_GPUS_PER_BOX 64

// Value of key_owner for keys that schedulers and administrators choose. Each user has a separate
// key space.
#define KEYS_OF_SCHEDULERS (-1)

enum gpu_mode { GPU_EXCLUSIVE, GPU_SHARED };
enum { GPU_MODES = 2 };
// Sharing of a GPU among processes, as its box reports: by time slices, or with an MPS server. A
// fault in one client of an MPS server ends all its clients, so the box admits to one server the
// sessions of one lease, of one user, or of all users.
enum gpu_sharing { GPU_BY_TIME, GPU_MPS_LEASE, GPU_MPS_USER, GPU_MPS_ALL };
enum policy { POLICY_PACK, POLICY_SPREAD, POLICY_BEST_FIT };

// queued   waits for GPUs
// granted  holds GPUs
// lost     holds GPUs, but one of its boxes is away: its sessions may or may not run
// ending   must end; holds GPUs until every box has reported that its sessions are gone
// ended    holds nothing
enum lease_state { LEASE_QUEUED, LEASE_GRANTED, LEASE_LOST, LEASE_ENDING, LEASE_ENDED };

struct request_part {
    uint32_t count;
    enum gpu_mode mode;
    uint64_t memory; // bytes of each share; 0 if mode is GPU_EXCLUSIVE
};

// A request for GPUs. Requests are compared bytewise to form classes (queue.h), so zero the
// structure before filling it. `model`, `box`, `locality` are globs; an empty one matches
// everything.
struct request {
    struct request_part parts[REQUEST_PARTS_MAX];
    uint32_t part_count;
    enum policy policy;
    uint64_t min_memory;
    uint32_t min_capability; // 10 * major + minor
    bool same_box, different_boxes;
    bool drained;     // GPUs that are drained will do too, to test them
    uint32_t index;   // number of the GPU on its box, and 1; 0: any
    bool privacy;     // require encryption between programs and boxes
    uint32_t compute; // percent of the multiprocessors of each GPU; 0: no limit
    int64_t tenant;   // user id + 1 if the request is for shares, else 0
    char model[POOL_PATTERN_MAX], box[POOL_PATTERN_MAX], locality[POOL_PATTERN_MAX];
    char near[POOL_NEAR_MAX]; // preferred locations, see near.h
};

#define NO_CLAIM UINT64_MAX

// Cached claim of waiting requests on one GPU, see claims.c.
struct gpu_claim {
    uint64_t lowest;   // lowest sequence that claims the GPU, or NO_CLAIM
    uint64_t newest;   // highest sequence of a class's first request that was examined
    uint64_t found_in; // version of queue and pool for which the claim holds; 0: not computed
    uint64_t gone;     // queue.gone when the claim was computed
    uint8_t modes;     // bit mask of the modes in which the GPU was available then
};

// Drain of a box or a GPU by an administrator. The texts are owned, or NULL.
struct drain {
    char *reason, *by;
    int64_t since; // seconds since 1970; 0: not drained, or unknown
};

#define DRAIN_REASON_MAX 200
enum { OVERCOMMIT_MAX = 10000 }; // percent of a GPU's memory that can be promised to shares
enum { POOL_FIGURES = 5 };       // number of activity figures of a GPU, see pool_figures.h

// Placement reads every GPU of the pool: the members that it uses fit into one cache line.
struct pool_gpu {
    struct pool_box *box;
    const char *model; // interned: equal models have equal pointers
    uint64_t memory;   // total bytes
    uint64_t reserved; // bytes that the box's own idle workers use
    uint64_t context;  // bytes that one CUDA context takes; charged to each share
    uint64_t used;     // bytes of shares, including their contexts
    uint32_t holders;  // number of leases that hold the GPU
    uint32_t index;
    uint8_t mode;       // enum gpu_mode
    uint8_t capability; // compute capability, 10 * major + minor; 0: not reported
    bool automatic;     // while no lease holds the GPU, the next request sets the mode
    bool drained, present;
    bool ready;      // the box has measured `context`, so the GPU can be granted
    uint8_t sharing; // enum gpu_sharing
    bool parts;      // the box can limit a lease to a percentage of the multiprocessors
    // percent of the memory that can be promised to shares, at least 100
    uint16_t overcommit;
    uint16_t sought;    // by how many requests of a scheduler's waiting jobs, see forecast.h
    uint8_t kept;       // for one of pool->planned: its place and 1; 0: for none
    int64_t tenant;     // of its held shares
    uint32_t computing; // percent of its multiprocessors that is promised to shares
    char uuid[POOL_NAME_MAX];
    struct gpu_claim claim;
    struct drain drain;
    unsigned figures_known; // bit mask of the valid `figures`
    double figures[POOL_FIGURES];
    char health[48]; // the box's word for its health; "": unknown
} __attribute__((aligned(64)));

// The unheld GPUs of one box that are available in one mode. If all are alike, their properties are
// copied here, so that placement need not read the GPUs.
struct idle_gpus {
    uint32_t count;
    uint8_t capability;
    struct pool_gpu *sample; // one of the GPUs if all are alike, else NULL
    const char *model;
    uint64_t memory;
    uint64_t free; // free bytes of each GPU
    uint64_t room; // bytes of the largest possible share
    bool parts;
};

// Placement reads every box: the members that it uses come first.
struct pool_box {
    bool stale;     // box_count_free must run: `idle` to `missing` are outdated
    bool settled;   // no session of the box belongs to a lease without GPUs there
    bool accepting; // the box's own administrator lets it accept new sessions
    bool connected; // registered since the broker's start, and its last report is recent
    bool hung_up;   // its last connection has closed; may be down, so gets no leases
    bool drained;
    bool scratch_match;
    uint32_t scratch_free, scratch_planned, scratch_far; // scratch memory of one placement
    uint32_t gpu_count, holders;
    uint32_t unheld;    // GPUs in service without holder, in any mode
    uint32_t missing;   // known GPUs that the box did not report
    uint64_t roomiest;  // maximum of free bytes among shared GPUs in service
    uint64_t in_shares; // bit mask of the `gpus` in service that have shares
    size_t place;       // in the pool's `boxes`, while a forecast is made
    struct idle_gpus idle[GPU_MODES];
    TAILQ_ENTRY(pool_box) orders;
    char name[POOL_NAME_MAX];
    char addresses[512];
    char locality[POOL_NAME_MAX];
    char transports[64];
    char version[32];
    char instance[POOL_NAME_MAX]; // id of rgpud's run: changes when rgpud starts
    struct drain drain;
    bool known_lost;      // its leases are in state LEASE_LOST
    bool recheck;         // a lease may be LEASE_LOST since before the broker's start
    uint64_t suspensions; // increases when the suspension of one of its leases changes
    bool has_orders;      // orders wait for immediate delivery; the box is in pool->orders
    bool impostor;        // another address tried to register under this name
    int64_t epoch;        // epoch of its registration (history.h)
    int64_t caught_up;    // epoch in which its leases are as it has them (catch_up.h)
    // Registered since the broker's start: this process knows all orders that it has sent to the
    // box.
    bool registered_here;
    bool reported_here;       // has reported its sessions since the broker's start
    double heard;             // time of the last report, seconds of the monotonic clock
    double busy_stored;       // time of the last write of its leases' GPU time
    double written;           // used by box_may_write
    int64_t seen, registered; // seconds since 1970, for display
    struct pool_gpu *gpus[POOL_GPUS_PER_BOX];
} __attribute__((aligned(64)));

// Suspension of a lease: whether its sessions are on its boxes.
enum lease_suspension {
    LEASE_HERE,
    // suspended; other leases get its GPUs once the boxes have reported that its sessions are saved
    LEASE_AWAY,
    LEASE_RETURNING, // resumes once its GPUs are free
};

// The claim of a lease on one of its GPUs.
struct pool_hold {
    struct pool_gpu *gpu;
    struct pool_box *box; // box of the GPU when the lease was granted
    uint32_t ordinal;
    enum gpu_mode mode;
    uint64_t memory, context;
    int64_t tenant;
    uint32_t compute;
    bool held;
    struct pool_gpu *target; // GPU that is reserved for a move, or NULL
    bool moved;              // tickets may name the GPU from before a move
    bool aside;              // not held while the lease is suspended; held again when it resumes
};

struct pool_lease {
    TAILQ_ENTRY(pool_lease) all, waiting, ending, returning, displaced;
    struct queue_class *queue_class; // while queued
    char id[POOL_NAME_MAX];
    char *key;         // key that the caller chose, or NULL
    int64_t key_owner; // user id, or KEYS_OF_SCHEDULERS
    char job[121];
    char account[65]; // account of the job, or ""
    char *reason;     // reason for its end, or NULL
    enum lease_suspension suspension;
    bool is_displaced; // in pool->displaced
    bool idle;         // suspended by its box because its programs were idle
    char *refusal;     // error of the last suspension, or NULL
    char *stays;       // error of the last move, or NULL
    uid_t owner;
    enum lease_state state;
    struct request request;
    int64_t created, granted, expires, ended; // seconds since 1970; expires 0: never
    int64_t lifetime;                         // seconds from the grant; 0: unlimited
    // end of the lifetime of the last ticket, seconds since 1970
    int64_t ticket_until;
    int64_t epoch;     // epoch of its creation, see history.h
    double deadline;   // `expires` on the monotonic clock, 0: never
    uint64_t sequence; // position in the queue: lower first
    size_t hold_count;
    struct pool_hold *holds;
};

TAILQ_HEAD(lease_list, pool_lease);
TAILQ_HEAD(box_list, pool_box);

struct queue;

enum { POOL_FREED_MAX = 64, POOL_NEW_MODELS = 256, POOL_PLANNED_MAX = 4 };

struct pool {
    struct pool_box **boxes;
    size_t box_count;
    size_t gpu_count;
    size_t new_models; // models interned since the last pool_forget_models()
    // increases when the pool's GPUs change so that an impossible request may become possible
    uint64_t generation;
    void *boxes_by_name, *gpus_by_uuid, *leases_by_id, *leases_by_key, *models;
    struct lease_list leases;    // all leases that have not ended
    struct lease_list ending;    // leases of state LEASE_ENDING
    struct lease_list returning; // leases of suspension LEASE_RETURNING, in order
    // Leases that were ever suspended or moved. Boxes need their states with each answer.
    struct lease_list displaced;
    struct box_list orders;
    size_t lease_count;
    struct queue *queue;
    // GPUs freed since the queue was last served. With a count above POOL_FREED_MAX any GPU may be
    // free.
    struct pool_gpu *freed[POOL_FREED_MAX];
    size_t freed_count;
    // Requests of a scheduler's next jobs, for which GPUs are kept until a monotonic time.
    struct request planned[POOL_PLANNED_MAX];
    size_t planned_count;
    char planned_prefix[201]; // of the scheduler's keys
    double planned_until;
};

struct pool *pool_new(void);
void pool_free(struct pool **pool);

struct pool_box *pool_find_box(const struct pool *pool, const char *name);
struct pool_gpu *pool_find_gpu(const struct pool *pool, const char *uuid);
// Finds a GPU by UUID or by BOX:INDEX. Returns NULL if there is none.
struct pool_gpu *pool_gpu_named(const struct pool *pool, const char *name);
struct pool_lease *pool_find_lease(const struct pool *pool, const char *id);
struct pool_lease *pool_find_key(const struct pool *pool, int64_t key_owner, const char *key);

// Return NULL if memory is exhausted. pool_place_gpu returns -ENOSPC if the box has
// POOL_GPUS_PER_BOX GPUs.
struct pool_box *pool_add_box(struct pool *pool, const char *name);
struct pool_gpu *pool_add_gpu(struct pool *pool, const char *uuid);
int pool_place_gpu(struct pool_gpu *gpu, struct pool_box *box) __attribute__((warn_unused_result));
const char *pool_intern_model(struct pool *pool, const char *model);
// Frees the names of models that no GPU has, if many were added since the last call.
void pool_forget_models(struct pool *pool);
// Returns true if a lease refers to the GPU, even if the lease no longer holds it.
bool pool_names_gpu(const struct pool *pool, const struct pool_gpu *gpu);
// Removes and frees a GPU. No lease may refer to it.
void pool_remove_gpu(struct pool *pool, struct pool_gpu *gpu);
// Removes and frees a box and its GPUs. No lease may hold one of them.
void pool_remove_box(struct pool *pool, struct pool_box *box);

// Adds a lease under its id and key, and takes ownership. Returns 0 or -ENOMEM.
int pool_add_lease(struct pool *pool, struct pool_lease *lease) __attribute__((warn_unused_result));
void pool_remove_lease(struct pool *pool, struct pool_lease *lease);

struct pool_lease *lease_new(void);
void lease_free(struct pool_lease **lease);

// Sets the state of a lease in the pool. No other function does.
void pool_move_lease(struct pool *pool, struct pool_lease *lease, enum lease_state state);
// Sets the suspension of a lease. No other function does.
void pool_set_suspension(struct pool *pool, struct pool_lease *lease,
                         enum lease_suspension suspension);
// Adds a lease to pool->displaced if it is suspended or moved. To be called after a move.
void pool_note_displaced(struct pool *pool, struct pool_lease *lease);
// Returns true if a resuming lease waits for the GPU, which other leases must then not get. If
// LEASE is not NULL, only leases that resume before LEASE count.
bool pool_is_awaited(const struct pool *pool, const struct pool_gpu *gpu,
                     const struct pool_lease *lease);
// Adds the box to pool->orders, so that it receives its orders immediately.
void pool_order(struct pool *pool, struct pool_box *box);

// Adds the GPU to pool->freed: a queued lease may want it.
void pool_note_freed(struct pool *pool, struct pool_gpu *gpu);
// Returns true if the hold is held, or will be when its suspended lease resumes.
static inline bool hold_stands(const struct pool_hold *hold)
{
    return hold->held || hold->aside;
}

// Mark a hold as held or not held, and update the counts and the mode of box and GPU.
void pool_take(struct pool_hold *hold);
void pool_give_back(struct pool_hold *hold);
// Gives the hold back for good: the next pass of the queue tries requests for its GPUs.
void pool_give_up(struct pool *pool, struct pool_hold *hold);
// Reserve GPU TARGET for a move; cancel the reservation; replace the hold's GPU by the reserved
// one.
void pool_reserve(struct pool_hold *hold, struct pool_gpu *target);
void pool_unreserve(struct pool_hold *hold);
void pool_settle(struct pool_hold *hold);

// Updates the counts of free GPUs and memory of a box. Placement uses them to skip full boxes.
void box_count_free(struct pool_box *box);
// Returns true if a report of this box may write to the database. The rate is limited so that the
// events of one faulty box do not displace those of others.
bool box_may_write(struct pool_box *box);
// Returns true if the box has reported in this epoch and takes sessions.
bool box_serves(const struct pool_box *box);
// Returns true if GPUs of the box can be granted.
bool box_usable(const struct pool_box *box);

// Returns a copy of the text, or NULL if it is NULL or empty. Ends the process without memory: a
// restart continues from the database.
char *pool_copy_text(const char *text);

// Moves the content of SAID to DRAIN, whose previous texts are freed.
void drain_set(struct drain *drain, struct drain *said);
// Returns the drain of the GPU, else that of its box; NULL if neither is drained.
const struct drain *gpu_drain(const struct pool_gpu *gpu);

// Returns true if the GPU is in service: present, not drained, and its box usable.
bool gpu_usable(const struct pool_gpu *gpu);
// Returns true if the GPU is an instance of a GPU that is divided by MIG.
bool gpu_is_instance(const struct pool_gpu *gpu);
// Returns true if the GPU's mode and holders permit another hold of MODE.
bool gpu_takes_mode(const struct pool_gpu *gpu, enum gpu_mode mode);
// Returns true if the GPU's mode permits a hold of MODE at some time.
bool gpu_may_take_mode(const struct pool_gpu *gpu, enum gpu_mode mode);
// Returns the bytes that can be promised to shares, including the reserved ones.
uint64_t gpu_promised_bytes(const struct pool_gpu *gpu);
// Returns the bytes left for new shares, including their contexts.
uint64_t gpu_free_bytes(const struct pool_gpu *gpu);
// Returns true if a share for the request is compatible with the tenant and the compute limits of
// the present shares.
bool gpu_takes_tenant(const struct pool_gpu *gpu, const struct request *request);
// Returns true if the hold could be moved to GPU with the same memory and mode.
bool lease_fits_gpu(const struct pool_lease *lease, const struct pool_hold *hold,
                    const struct pool_gpu *gpu);
// Return true if the lease has a hold or a reservation there, including holds of a suspended lease.
bool lease_holds_on(const struct pool_lease *lease, const struct pool_box *box);
bool lease_holds_gpu(const struct pool_lease *lease, const struct pool_gpu *gpu);

// A further mode for administrators: the broker chooses the mode of a GPU that no lease holds.
#define GPU_AUTO "auto"
// Parses the name of a mode or "auto", which sets *AUTOMATIC and exclusive. Returns 0 or -EINVAL.
int gpu_parse_mode(const char *text, enum gpu_mode *mode, bool *automatic)
    __attribute__((warn_unused_result));

extern const char *const gpu_mode_names[],
    *const gpu_sharing_names[], *const policy_names[], *const lease_state_names[],
                                                           *const lease_suspension_names[];
// Returns the index of NAME in one of these tables, or -EINVAL.
int pool_parse_name(const char *const *names, const char *name) __attribute__((warn_unused_result));

#endif

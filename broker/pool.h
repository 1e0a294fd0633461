// SPDX-License-Identifier: BSD-3-Clause
// The pool as the broker holds it in memory: boxes, GPUs, leases and what each lease holds. It is
// an index over the database, built from it at start and changed only after a commit. No SQL and
// no HTTP here. One thread uses a pool.
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

// Schedulers and administrators share their keys; each user has his own.
#define KEYS_OF_SCHEDULERS (-1)

enum gpu_mode { GPU_EXCLUSIVE, GPU_SHARED };
enum { GPU_MODES = 2 };
// How processes share a GPU, as its box says: in turns, or by an MPS server, on which a fault of one ends all. So its box
// lets there be sessions of one lease, of one user, or of all at once.
enum gpu_sharing { GPU_BY_TIME, GPU_MPS_LEASE, GPU_MPS_USER, GPU_MPS_ALL };
enum policy { POLICY_PACK, POLICY_SPREAD, POLICY_BEST_FIT };

// queued   waits for capacity
// granted  holds GPUs
// lost     granted, but a box of it is away: nobody knows whether its sessions still run
// ending   to be over; holds GPUs until every box has said that its sessions are gone
// ended    holds nothing
enum lease_state { LEASE_QUEUED, LEASE_GRANTED, LEASE_LOST, LEASE_ENDING, LEASE_ENDED };

struct request_part {
    uint32_t count;
    enum gpu_mode mode;
    uint64_t memory; // budget of each share in bytes; 0 for exclusive
};

// What somebody asks for. Two requests with equal bytes are of one class (see queue.h), so it is
// always built from zeroed memory. Patterns are globs; an empty one matches everything.
struct request {
    struct request_part parts[REQUEST_PARTS_MAX];
    uint32_t part_count;
    enum policy policy;
    uint64_t min_memory;
    uint32_t min_capability; // 10 * major + minor
    bool same_box, different_boxes;
    bool privacy;     // of the way between programs and boxes
    uint32_t compute; // percent of the multiprocessors of each GPU that it is kept to; 0: all
    int64_t tenant;   // its owner and 1, where it wants shares; 0: nobody says
    char model[POOL_PATTERN_MAX], box[POOL_PATTERN_MAX], locality[POOL_PATTERN_MAX];
    char near[POOL_NEAR_MAX]; // where boxes are preferred, see near.h
};

#define NO_CLAIM UINT64_MAX

// Who of those that wait has a claim on a GPU, as it was found out last (claims.c).
struct gpu_claim {
    uint64_t lowest;   // sequence, or NO_CLAIM
    uint64_t newest;   // highest head of a class that was looked at
    uint64_t found_in; // state of queue and pool, 0: never
    uint64_t gone;     // count of heads that had left the queue
    uint8_t modes;     // that the GPU took
};

// What an administrator said when he took a box or a GPU out of service. Texts are owned, and NULL where
// nothing was said.
struct drain {
    char *reason, *by;
    int64_t since; // seconds since 1970, 0: not drained, or by a broker that did not keep it
};

#define DRAIN_REASON_MAX 200
enum { OVERCOMMIT_MAX = 10000 }; // percent
enum { POOL_FIGURES = 5 };       // of what a GPU does at the moment, see pool_figures.h

// Placement looks at every GPU of the pool; what it reads of one fits into one cache line.
struct pool_gpu {
    struct pool_box *box;
    const char *model; // interned: equal models are equal pointers
    uint64_t memory;   // all of it
    uint64_t reserved; // what the box's own warm workers take
    uint64_t context;  // measured cost of one context, charged to each share
    uint64_t used;     // of `memory`, by shares and their contexts
    uint32_t holders;  // leases that hold it
    uint32_t index;
    uint8_t mode;       // enum gpu_mode
    uint8_t capability; // compute capability, 10 * major + minor; 0: the box has not said
    bool automatic;     // the mode follows who asks, while nobody holds it
    bool drained, present;
    bool ready;          // the box has measured what a context takes: it may be granted
    uint8_t sharing;     // enum gpu_sharing
    bool parts;          // its box keeps leases to a part of it
    uint16_t overcommit; // percent of the memory that shares may be promised; less than 100: 100
    int64_t tenant;      // of the shares of it that are held
    uint32_t computing;  // percent of its multiprocessors that are promised to them
    char uuid[POOL_NAME_MAX];
    struct gpu_claim claim;
    struct drain drain;
    unsigned figures_known; // a bit for each of the figures
    double figures[POOL_FIGURES];
} __attribute__((aligned(64)));

// GPUs of one box that may be had in one mode and that nobody holds. Where they are alike, what a request asks of
// a GPU is here, so that placement need not look at any of them.
struct idle_gpus {
    uint32_t count;
    uint8_t capability;
    struct pool_gpu *sample; // one of them, where they are alike; else NULL
    const char *model;
    uint64_t memory;
    uint64_t free; // bytes of each
    uint64_t room; // those that a share may have
    bool parts;
};

// Placement looks at every box as well: what it reads of one comes first.
struct pool_box {
    bool stale;     // `idle` to `missing` are to be counted anew
    bool settled;   // runs no session of a lease that holds nothing there
    bool accepting; // takes new sessions, as far as its own administrator is concerned
    bool connected; // registered with this broker process and heard of in time
    bool hung_up;   // its last connection is closed: perhaps it has just died, so it gets nothing
    bool drained;
    bool scratch_match;
    uint32_t scratch_free, scratch_planned, scratch_far; // of the planner
    uint32_t gpu_count, holders;
    uint32_t unheld;    // GPUs in service that nobody holds, in any mode
    uint32_t missing;   // GPUs that the box no longer has
    uint64_t roomiest;  // most bytes free on a shared GPU in service
    uint64_t in_shares; // a bit for each of `gpus` in service of which somebody holds a share
    struct idle_gpus idle[GPU_MODES];
    TAILQ_ENTRY(pool_box) orders;
    char name[POOL_NAME_MAX];
    char addresses[512];
    char locality[POOL_NAME_MAX];
    char transports[64];
    char version[32];
    char instance[POOL_NAME_MAX]; // changes with every start of rgpud
    struct drain drain;
    bool known_lost;      // its leases are marked lost
    bool recheck;         // a lease may have been marked lost before the broker was started
    uint64_t suspensions; // counts changes of which leases are to be suspended there
    bool has_orders;      // there is something to tell it at once; then it is in pool->orders
    bool impostor;        // somebody at another address was refused who claimed to be this box
    int64_t epoch;        // in which it has registered
    // Registered with this broker process, which knows since then what it has told the box.
    bool registered_here;
    bool reported_here;       // the same for its sessions
    double heard;             // monotonic seconds
    double busy_stored;       // when GPU time of its leases was written last
    double written;           // of box_may_write()
    int64_t seen, registered; // seconds since 1970, for people
    struct pool_gpu *gpus[POOL_GPUS_PER_BOX];
} __attribute__((aligned(64)));

// Whether a lease's sessions are to be on their GPUs.
enum lease_suspension {
    LEASE_HERE,
    LEASE_AWAY, // suspended: what it holds is for others, as soon as its box has said that they have left
    LEASE_RETURNING, // as soon as what it held is free again
};

// One GPU of one lease.
struct pool_hold {
    struct pool_gpu *gpu;
    struct pool_box *box; // where it was when it was granted
    uint32_t ordinal;
    enum gpu_mode mode;
    uint64_t memory, context;
    int64_t tenant;
    uint32_t compute;
    bool held;
    struct pool_gpu *target; // kept for it as well, since it is to go there; or NULL
    bool moved;              // its tickets may name another GPU
    bool aside;              // not held, as the lease is suspended, but to be held again
};

struct pool_lease {
    TAILQ_ENTRY(pool_lease) all, waiting, ending, returning;
    struct queue_class *queue_class; // while queued
    char id[POOL_NAME_MAX];
    char *key;         // the caller's name for it, or NULL
    int64_t key_owner; // whose name: KEYS_OF_SCHEDULERS, or a user's number
    char job[121];
    char account[65]; // that the job is charged to, or none
    char *reason;     // why it ended or ends, or NULL
    enum lease_suspension suspension;
    bool idle;     // suspended by its box, as it asked for nothing, until it does
    char *refusal; // why it was not suspended when that was asked for last, or NULL
    char *stays;   // why it did not go to another GPU when that was asked for last, or NULL
    uid_t owner;
    enum lease_state state;
    struct request request;
    int64_t created, granted, expires, ended; // seconds since 1970; expires 0: never
    int64_t lifetime;                         // seconds from the grant, 0: until released
    int64_t ticket_until; // none of the tickets that are known of is valid after this
    int64_t epoch;        // in which it was made, see history.h
    double deadline;      // `expires` on the monotonic clock, 0: never
    uint64_t sequence;    // order in the queue
    size_t hold_count;
    struct pool_hold *holds;
};

TAILQ_HEAD(lease_list, pool_lease);
TAILQ_HEAD(box_list, pool_box);

struct queue;

enum { POOL_FREED_MAX = 64, POOL_NEW_MODELS = 256 };

struct pool {
    struct pool_box **boxes;
    size_t box_count;
    size_t gpu_count;
    size_t new_models;   // interned since pool_forget_models() freed those that no GPU has
    uint64_t generation; // changes with what could be granted in an empty pool
    void *boxes_by_name, *gpus_by_uuid, *leases_by_id, *leases_by_key, *models;
    struct lease_list leases;    // all that have not ended
    struct lease_list ending;    // those of state LEASE_ENDING
    struct lease_list returning; // those that wait to return, in the order in which they are to
    struct box_list orders;
    size_t lease_count;
    struct queue *queue;
    // Given back since the queue was served; where there are more than the list takes, it is any GPU.
    struct pool_gpu *freed[POOL_FREED_MAX];
    size_t freed_count;
};

struct pool *pool_new(void);
void pool_free(struct pool **pool);

struct pool_box *pool_find_box(const struct pool *pool, const char *name);
struct pool_gpu *pool_find_gpu(const struct pool *pool, const char *uuid);
// By its UUID, or as BOX:INDEX.
struct pool_gpu *pool_gpu_named(const struct pool *pool, const char *name);
struct pool_lease *pool_find_lease(const struct pool *pool, const char *id);
struct pool_lease *pool_find_key(const struct pool *pool, int64_t key_owner, const char *key);

// Adding fails only for want of memory (NULL) or room in a box (-ENOSPC).
struct pool_box *pool_add_box(struct pool *pool, const char *name);
struct pool_gpu *pool_add_gpu(struct pool *pool, const char *uuid);
int pool_place_gpu(struct pool_gpu *gpu, struct pool_box *box) __attribute__((warn_unused_result));
const char *pool_intern_model(struct pool *pool, const char *model);
// Frees models that no GPU has, once there may be many of them.
void pool_forget_models(struct pool *pool);
// Returns true if a lease names the GPU, also one that has given it back.
bool pool_names_gpu(const struct pool *pool, const struct pool_gpu *gpu);
// No lease may name the GPU.
void pool_remove_gpu(struct pool *pool, struct pool_gpu *gpu);
// The box must hold nothing; its GPUs go with it.
void pool_remove_box(struct pool *pool, struct pool_box *box);

// Makes a lease known under its id and key. Takes over `lease` (from lease_new).
int pool_add_lease(struct pool *pool, struct pool_lease *lease) __attribute__((warn_unused_result));
void pool_remove_lease(struct pool *pool, struct pool_lease *lease);

struct pool_lease *lease_new(void);
void lease_free(struct pool_lease **lease);

// The one place where a lease that is in the pool changes its state.
void pool_move_lease(struct pool *pool, struct pool_lease *lease, enum lease_state state);
// The same for its suspension.
void pool_set_suspension(struct pool *pool, struct pool_lease *lease,
                         enum lease_suspension suspension);
// Whether a lease waits to return to the GPU, which nobody else is granted before that; of those before LEASE in that
// line, where one is given.
bool pool_is_awaited(const struct pool *pool, const struct pool_gpu *gpu,
                     const struct pool_lease *lease);
// Notes that a box is to be told something.
void pool_order(struct pool *pool, struct pool_box *box);

// Notes that somebody who waits may want the GPU.
void pool_note_freed(struct pool *pool, struct pool_gpu *gpu);
// Held, or to be held again once its lease returns.
static inline bool hold_stands(const struct pool_hold *hold)
{
    return hold->held || hold->aside;
}

// Marks a hold as held or not and keeps the counts of GPU and box, and the mode of the GPU.
void pool_take(struct pool_hold *hold);
void pool_give_back(struct pool_hold *hold);
// Keeps a GPU for what is held, beside the one that it has; does so no more; or has it hold that one only.
void pool_reserve(struct pool_hold *hold, struct pool_gpu *target);
void pool_unreserve(struct pool_hold *hold);
void pool_settle(struct pool_hold *hold);

// Counts what is free on a box, where something has changed; placement skips full boxes by it, and GPUs that are
// alike.
void box_count_free(struct pool_box *box);
// Returns true if the box may have something written to the database now that it could repeat for ever; events that one
// box causes must not displace those of others. Honest boxes seldom do.
bool box_may_write(struct pool_box *box);
// Whether GPUs of the box may be granted at all just now, as far as the box is concerned.
bool box_usable(const struct pool_box *box);

// Takes over what is said, and forgets what was.
void drain_set(struct drain *drain, struct drain *said);
// Why the GPU is out of service by somebody's word: its own drain before its box's; NULL: it is not.
const struct drain *gpu_drain(const struct pool_gpu *gpu);

// Whether it may be granted at all just now.
bool gpu_usable(const struct pool_gpu *gpu);
// Whether it is a part of a GPU that is divided.
bool gpu_is_instance(const struct pool_gpu *gpu);
// Whether it could be held in this mode, as far as others that hold it are concerned.
bool gpu_takes_mode(const struct pool_gpu *gpu, enum gpu_mode mode);
// Bytes that all shares together may be promised, with what the box's own workers take.
uint64_t gpu_promised_bytes(const struct pool_gpu *gpu);
// Bytes that new shares may still take, its context included.
uint64_t gpu_free_bytes(const struct pool_gpu *gpu);
// Whether a request could have a part of it beside those who have one, as far as that depends on who they are and how
// much they compute.
bool gpu_takes_tenant(const struct pool_gpu *gpu, const struct request *request);
// Whether it could hold that GPU as it holds the one that it has.
bool lease_fits_gpu(const struct pool_lease *lease, const struct pool_hold *hold,
                    const struct pool_gpu *gpu);
// Of what is given back while its lease is suspended, and of what is kept for a lease that moves, too.
bool lease_holds_on(const struct pool_lease *lease, const struct pool_box *box);
bool lease_holds_gpu(const struct pool_lease *lease, const struct pool_gpu *gpu);

// What an administrator may say: the modes, and "auto".
#define GPU_AUTO "auto"
// -EINVAL: it is none. "auto" begins as exclusive.
int gpu_parse_mode(const char *text, enum gpu_mode *mode, bool *automatic)
    __attribute__((warn_unused_result));

extern const char *const gpu_mode_names[],
    *const gpu_sharing_names[], *const policy_names[], *const lease_state_names[],
                                                           *const lease_suspension_names[];
// Index of `name` in a table above, or -EINVAL.
int pool_parse_name(const char *const *names, const char *name) __attribute__((warn_unused_result));

#endif

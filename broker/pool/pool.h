// SPDX-License-Identifier: BSD-3-Clause
// Holds the pool in memory: boxes, GPUs, leases, and the holds of each lease. The pool is an index
// over the database, which is built at start and changes only after a commit. It knows neither SQL
// nor HTTP. One thread uses a pool.
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

// Owner of the keys that schedulers and administrators share; each user has a separate key space.
#define KEYS_OF_SCHEDULERS (-1)

enum gpu_mode { GPU_EXCLUSIVE, GPU_SHARED };
enum { GPU_MODES = 2 };
// The way in which processes share a GPU, as its box reports: by time slices, or by an MPS server,
// on which a fault of one client ends all clients. The box therefore admits sessions of one lease,
// of one user, or of all users at once.
enum gpu_sharing { GPU_BY_TIME, GPU_MPS_LEASE, GPU_MPS_USER, GPU_MPS_ALL };
enum policy { POLICY_PACK, POLICY_SPREAD, POLICY_BEST_FIT };

// queued   waits for GPUs
// granted  holds GPUs
// lost     granted, but one of its boxes is away: its sessions may or may not run
// ending   must end; holds GPUs until every box has reported that its sessions are gone
// ended    holds nothing
enum lease_state { LEASE_QUEUED, LEASE_GRANTED, LEASE_LOST, LEASE_ENDING, LEASE_ENDED };

struct request_part {
    uint32_t count;
    enum gpu_mode mode;
    uint64_t memory; // bytes of each share; 0 for exclusive
};

// A request for GPUs. Requests with equal bytes form one class (see queue.h), so the memory is
// zeroed before it is filled. Patterns are globs; an empty one matches everything.
struct request {
    struct request_part parts[REQUEST_PARTS_MAX];
    uint32_t part_count;
    enum policy policy;
    uint64_t min_memory;
    uint32_t min_capability; // 10 * major + minor
    bool same_box, different_boxes;
    bool privacy;     // of the connections between programs and boxes
    uint32_t compute; // limit on the multiprocessors of each GPU, in percent; 0: all
    int64_t tenant;   // owner + 1 if it asks for shares; 0: unknown
    char model[POOL_PATTERN_MAX], box[POOL_PATTERN_MAX], locality[POOL_PATTERN_MAX];
    char near[POOL_NEAR_MAX]; // preferred boxes, see near.h
};

#define NO_CLAIM UINT64_MAX

// The cached claim of waiting requests on a GPU (claims.c).
struct gpu_claim {
    uint64_t lowest;   // lowest sequence with a claim, or NO_CLAIM
    uint64_t newest;   // highest head of a class that was examined
    uint64_t found_in; // state of queue and pool, 0: never computed
    uint64_t gone;     // value of queue.gone
    uint8_t modes;     // modes that the GPU accepted
};

// An administrator's drain of a box or a GPU. Texts are owned, and NULL if not given.
struct drain {
    char *reason, *by;
    int64_t since; // seconds since 1970; 0: not drained, or unknown
};

#define DRAIN_REASON_MAX 200
enum { OVERCOMMIT_MAX = 10000 }; // percent
enum { POOL_FIGURES = 5 };       // figures of a GPU's activity, see pool_figures.h

// Placement reads every GPU of the pool; the members that it reads fit into one cache line.
struct pool_gpu {
    struct pool_box *box;
    const char *model; // interned: equal models are equal pointers
    uint64_t memory;   // all of its memory
    uint64_t reserved; // memory that the box's own warm workers take
    uint64_t context;  // measured cost of one context, charged to each share
    uint64_t used;     // bytes of `memory` taken by shares and their contexts
    uint32_t holders;  // leases that hold it
    uint32_t index;
    uint8_t mode;       // enum gpu_mode
    uint8_t capability; // compute capability, 10 * major + minor; 0: the box has not said
    bool automatic;     // while unheld, the mode follows the next request
    bool drained, present;
    bool ready;      // the box has measured the size of a context: the GPU may be granted
    uint8_t sharing; // enum gpu_sharing
    bool parts;      // its box can limit a lease to a part of the GPU
    // percent of the memory that may be promised to shares; values below 100 count as 100
    uint16_t overcommit;
    uint16_t sought;    // by how many requests of a scheduler's waiting jobs, see forecast.h
    uint8_t kept;       // for one of pool->planned: its place and 1; 0: for none
    int64_t tenant;     // of its held shares
    uint32_t computing; // percent of its multiprocessors that is promised to shares
    char uuid[POOL_NAME_MAX];
    struct gpu_claim claim;
    struct drain drain;
    unsigned figures_known; // bit mask of the known figures
    double figures[POOL_FIGURES];
} __attribute__((aligned(64)));

// The unheld GPUs of one box that are available in one mode. If they are alike, their common
// properties are here, so that placement can skip the GPUs themselves.
struct idle_gpus {
    uint32_t count;
    uint8_t capability;
    struct pool_gpu *sample; // one of them if they are alike, else NULL
    const char *model;
    uint64_t memory;
    uint64_t free; // bytes of each
    uint64_t room; // bytes that one share may take
    bool parts;
};

// Placement reads every box; the members that it reads come first.
struct pool_box {
    bool stale;     // `idle` to `missing` must be recounted
    bool settled;   // runs no session of a lease that holds nothing there
    bool accepting; // accepts new sessions, according to its own administrator
    bool connected; // registered with this broker process, and its last report is recent
    bool hung_up;   // its last connection is closed, so it may be down and gets no leases
    bool drained;
    bool scratch_match;
    uint32_t scratch_free, scratch_planned, scratch_far; // scratch values of the planner
    uint32_t gpu_count, holders;
    uint32_t unheld;    // unheld GPUs in service, in any mode
    uint32_t missing;   // GPUs that the box no longer has
    uint64_t roomiest;  // most free bytes on a shared GPU in service
    uint64_t in_shares; // bit mask of the `gpus` in service with shares that are held
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
    bool recheck;         // a lease may have been marked lost before this start of the broker
    uint64_t suspensions; // counts changes in the suspensions of its leases
    bool has_orders;      // has an order for immediate delivery, and is in pool->orders
    bool impostor;        // a registration under its name from another address was refused
    int64_t epoch;        // epoch of its registration
    // Registered with this broker process, which therefore knows all messages that it has sent to
    // the box.
    bool registered_here;
    bool reported_here;       // has also reported its sessions to this process
    double heard;             // time of the last report, monotonic seconds
    double busy_stored;       // time when the GPU time of its leases was last written
    double written;           // used by box_may_write()
    int64_t seen, registered; // seconds since 1970, for display
    struct pool_gpu *gpus[POOL_GPUS_PER_BOX];
} __attribute__((aligned(64)));

// Suspension of a lease, that is, of its sessions.
enum lease_suspension {
    LEASE_HERE,
    // suspended: other leases may get its GPUs once its box has reported that its sessions have
    // left
    LEASE_AWAY,
    LEASE_RETURNING, // returns as soon as its GPUs are free again
};

// One GPU of one lease.
struct pool_hold {
    struct pool_gpu *gpu;
    struct pool_box *box; // box at the time of the grant
    uint32_t ordinal;
    enum gpu_mode mode;
    uint64_t memory, context;
    int64_t tenant;
    uint32_t compute;
    bool held;
    struct pool_gpu *target; // GPU that is reserved for a move of this hold, or NULL
    bool moved;              // its tickets may name another GPU
    bool aside;              // not held because the lease is suspended, but will be held again
};

struct pool_lease {
    TAILQ_ENTRY(pool_lease) all, waiting, ending, returning;
    struct queue_class *queue_class; // while queued
    char id[POOL_NAME_MAX];
    char *key;         // the caller's key for it, or NULL
    int64_t key_owner; // owner of the key: KEYS_OF_SCHEDULERS or a user id
    char job[121];
    char account[65]; // account that is charged for the job, or empty
    char *reason;     // reason of its end, or NULL
    enum lease_suspension suspension;
    bool idle;     // suspended by its box while it makes no requests
    char *refusal; // why its last suspension failed, or NULL
    char *stays;   // why its last move failed, or NULL
    uid_t owner;
    enum lease_state state;
    struct request request;
    int64_t created, granted, expires, ended; // seconds since 1970; expires 0: never
    int64_t lifetime;                         // seconds from the grant, 0: until released
    int64_t ticket_until;                     // no known ticket is valid after this time
    int64_t epoch;                            // epoch in which it was created, see history.h
    double deadline;                          // `expires` on the monotonic clock, 0: never
    uint64_t sequence;                        // order in the queue
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
    size_t new_models;   // models interned since the last pool_forget_models()
    uint64_t generation; // changes whenever an empty pool could grant other requests
    void *boxes_by_name, *gpus_by_uuid, *leases_by_id, *leases_by_key, *models;
    struct lease_list leases;    // all that have not ended
    struct lease_list ending;    // those of state LEASE_ENDING
    struct lease_list returning; // leases that wait to return, in their order of return
    struct box_list orders;
    size_t lease_count;
    struct queue *queue;
    // GPUs freed since the queue was last served; a count above POOL_FREED_MAX stands for any GPU.
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
// Finds a GPU by its UUID, or as BOX:INDEX.
struct pool_gpu *pool_gpu_named(const struct pool *pool, const char *name);
struct pool_lease *pool_find_lease(const struct pool *pool, const char *id);
struct pool_lease *pool_find_key(const struct pool *pool, int64_t key_owner, const char *key);

// Adding fails only without memory (NULL) or free space in a box (-ENOSPC).
struct pool_box *pool_add_box(struct pool *pool, const char *name);
struct pool_gpu *pool_add_gpu(struct pool *pool, const char *uuid);
int pool_place_gpu(struct pool_gpu *gpu, struct pool_box *box) __attribute__((warn_unused_result));
const char *pool_intern_model(struct pool *pool, const char *model);
// Frees models that no GPU has, once many models have been interned.
void pool_forget_models(struct pool *pool);
// Returns true if a lease refers to the GPU, including leases that have given it back.
bool pool_names_gpu(const struct pool *pool, const struct pool_gpu *gpu);
// Removes a GPU, to which no lease may refer.
void pool_remove_gpu(struct pool *pool, struct pool_gpu *gpu);
// Removes a box with its GPUs. The box must hold nothing.
void pool_remove_box(struct pool *pool, struct pool_box *box);

// Adds a lease under its id and key. Takes over `lease` (from lease_new).
int pool_add_lease(struct pool *pool, struct pool_lease *lease) __attribute__((warn_unused_result));
void pool_remove_lease(struct pool *pool, struct pool_lease *lease);

struct pool_lease *lease_new(void);
void lease_free(struct pool_lease **lease);

// Sets the state of a lease; no other function does so for a lease in the pool.
void pool_move_lease(struct pool *pool, struct pool_lease *lease, enum lease_state state);
// Sets the suspension of a lease; no other function does so.
void pool_set_suspension(struct pool *pool, struct pool_lease *lease,
                         enum lease_suspension suspension);
// Returns true if a lease waits to return to the GPU, which therefore goes to no other lease. If
// LEASE is not NULL, considers only the leases before it in the order of return.
bool pool_is_awaited(const struct pool *pool, const struct pool_gpu *gpu,
                     const struct pool_lease *lease);
// Notes that the box has an order to receive.
void pool_order(struct pool *pool, struct pool_box *box);

// Notes that a waiting lease may want the GPU.
void pool_note_freed(struct pool *pool, struct pool_gpu *gpu);
// Returns true if the hold is held, or will be held again once its lease returns.
static inline bool hold_stands(const struct pool_hold *hold)
{
    return hold->held || hold->aside;
}

// Marks a hold as held or not, and updates the counts of GPU and box and the mode of the GPU.
void pool_take(struct pool_hold *hold);
void pool_give_back(struct pool_hold *hold);
// Reserves a second GPU for a hold, cancels the reservation, or gives up the old GPU for the
// reserved one.
void pool_reserve(struct pool_hold *hold, struct pool_gpu *target);
void pool_unreserve(struct pool_hold *hold);
void pool_settle(struct pool_hold *hold);

// Recounts the free GPUs and memory of a box after a change; placement uses the counts to skip full
// boxes and GPUs that are alike.
void box_count_free(struct pool_box *box);
// Returns true if the box may cause a database write that it could repeat without limit. The events
// of one box must not displace those of others. Correct boxes seldom reach the limit.
bool box_may_write(struct pool_box *box);
// Returns true if the state of the box permits grants of its GPUs.
bool box_usable(const struct pool_box *box);

// Takes over `said`, and frees the texts that `drain` had.
void drain_set(struct drain *drain, struct drain *said);
// Returns the drain of the GPU, or else of its box; NULL if neither is drained.
const struct drain *gpu_drain(const struct pool_gpu *gpu);

// Returns true if the GPU may be granted at this moment.
bool gpu_usable(const struct pool_gpu *gpu);
// Returns true if this is an instance of a divided GPU.
bool gpu_is_instance(const struct pool_gpu *gpu);
// Returns true if the present holders permit another hold in this mode.
bool gpu_takes_mode(const struct pool_gpu *gpu, enum gpu_mode mode);
// Returns the bytes that may be promised to all shares together, including those of the box's own
// workers.
uint64_t gpu_promised_bytes(const struct pool_gpu *gpu);
// Returns the bytes that new shares may take, including their contexts.
uint64_t gpu_free_bytes(const struct pool_gpu *gpu);
// Returns true if the tenants and the multiprocessor limits of the present shares permit a share
// for the request.
bool gpu_takes_tenant(const struct pool_gpu *gpu, const struct request *request);
// Returns true if the hold could be moved to that GPU unchanged.
bool lease_fits_gpu(const struct pool_lease *lease, const struct pool_hold *hold,
                    const struct pool_gpu *gpu);
// Return true if the lease holds something there, including holds of a suspended lease and
// reservations of a move.
bool lease_holds_on(const struct pool_lease *lease, const struct pool_box *box);
bool lease_holds_gpu(const struct pool_lease *lease, const struct pool_gpu *gpu);

// Modes for administrators: those above, and "auto".
#define GPU_AUTO "auto"
// Returns 0, or -EINVAL if the text is no mode. "auto" begins as exclusive.
int gpu_parse_mode(const char *text, enum gpu_mode *mode, bool *automatic)
    __attribute__((warn_unused_result));

extern const char *const gpu_mode_names[],
    *const gpu_sharing_names[], *const policy_names[], *const lease_state_names[],
                                                           *const lease_suspension_names[];
// Returns the index of `name` in one of the tables above, or -EINVAL.
int pool_parse_name(const char *const *names, const char *name) __attribute__((warn_unused_result));

#endif

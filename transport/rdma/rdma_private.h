// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the rdma link.
#ifndef RGPU_TRANSPORT_RDMA_PRIVATE_H
#define RGPU_TRANSPORT_RDMA_PRIVATE_H

#include "transport/link/gather_guess.h"
#include "transport/link/link_private.h"
#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_regions.h"
#include "transport/rdma/rdma_verbs.h"
#include "common/base/wait.h"

enum rdma_channel { RDMA_COMMANDS, RDMA_BULK, RDMA_CHANNELS };

enum {
    RDMA_RING_SIZE = 1 << 20,
    RDMA_TINY_SIZE = 4096,
    RDMA_MEMORY_SIZE = 4 * RDMA_RING_SIZE + RDMA_TINY_SIZE, // the ring twice and the following page
    RDMA_RECEIVES = 256,    // posted on either side of the command channel
    RDMA_SENDS = 256,       // room of its send queue
    RDMA_KEPT = 4,          // sends and receives that only messages of credit may use
    RDMA_SIGNAL_EVERY = 32, // sends per completion
    RDMA_REPOST = 32,       // receives that are posted again at once
    RDMA_INLINE_WANTED = 220,
    RDMA_TRANSFERS = 64,  // one-sided operations under way
    RDMA_RNR_TIMER = 12,  // 0.64 ms
    RDMA_RETRIES = 6,     // soft-RoCE takes 7 for ever
    RDMA_RNR_RETRIES = 6, // 7 would be for ever; credits ensure that none is needed
    RDMA_DEAD_MS = 10000,
};

_Static_assert((RDMA_RING_SIZE & (RDMA_RING_SIZE - 1)) == 0, "positions wrap by a mask");
_Static_assert(RDMA_RING_SIZE >= 4 * WIRE_RECORD_MAX, "several records of any size fit");

// The immediate data of a message: either the bytes written into the ring (in units of 8), or
// credit: the bytes taken out of the ring and the receives posted again.
#define RDMA_IMMEDIATE_CREDIT 0x80000000u
#define RDMA_IMMEDIATE_BYTES(immediate) (((immediate)&0x3ffffu) * 8)
#define RDMA_IMMEDIATE_RECEIVES(immediate) ((immediate) >> 18 & 0x1fffu)
_Static_assert(RDMA_RING_SIZE / 8 < 1 << 18 && RDMA_RECEIVES < 1 << 13, "credits fit");

enum { RDMA_REGIONS_MAX = 16384 }; // of one session

// The way of an end's packets.
struct rdma_path {
    unsigned mtu; // bytes
    uint8_t service_level;
    uint8_t port;
    int gid_index; // -1: none travels in the packets
};

// The resources of one end before it is connected.
struct rdma_end {
    struct rdma_options options;
    bool is_worker;
    struct rdma_path path;
    unsigned regions_max;        // of the device
    uint8_t reads_in, reads_out; // that the device has under way at once, from the peer and to it
    struct rdma_event_channel *events;
    struct ibv_context *context; // of the device; librdmacm's
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions[RDMA_CHANNELS];
    struct ibv_cq *queue[RDMA_CHANNELS];
    struct rdma_cm_id *ids[RDMA_CHANNELS];
    struct ibv_qp *pairs[RDMA_CHANNELS];
    uint32_t inline_max;
    uint8_t *in, *out; // rings, each mapped twice in a row; the peer writes into `in`
    uint8_t *tiny;     // a page after them
    struct ibv_mr *rings;
    struct link_staging staging; // the client's own; the worker's is the session's
    bool owns_staging;
    struct ibv_mr *staging_mr;
    uint32_t dead_ms;
};

// The kinds of threads that take completions, or sleep until there are some.
enum rdma_waiter { RDMA_RECEIVER, RDMA_SENDER, RDMA_NOBODY };

// Records that wait for the next ones to leave together (rdma_gather.c).
struct rdma_gather {
    struct gather_guess guess; // under send_lock
    _Atomic bool ticks;        // the thread that sends them then is awake
    bool runs, ending;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
};

struct rdma_link {
    struct link base;
    struct rdma_end end;
    int watch;
    bool abandoned;
    uint64_t peer_ring;
    uint32_t peer_key;
    uint32_t keepalive_ms;

    pthread_mutex_t send_lock; // held from reserve to commit
    _Atomic uint64_t produced; // bytes committed
    uint32_t reserved;
    struct rdma_gather gather;
    int space; // event file: the sender sleeps on it
    _Atomic bool sender_sleeps;

    pthread_mutex_t post_lock; // for posting sends; taken last
    _Atomic uint64_t left;     // bytes that have been posted
    uint64_t posted;           // sends in all
    uint64_t messages;         // of them, those that take a receive of the peer
    uint64_t keepalive;        // the last send that asks for nothing but an answer
    uint64_t asked_at;         // and when it was posted, ns
    _Atomic uint64_t bytes_reported, receives_reported;

    pthread_mutex_t poll_lock;     // for polling the command channel; its holder may take post_lock
    _Atomic uint64_t completed;    // sends known to be over
    _Atomic uint64_t acknowledged; // bytes that the peer has taken
    _Atomic uint64_t messages_acknowledged;
    _Atomic uint64_t arrived;  // bytes in `in`
    _Atomic uint64_t receives; // used up and posted again
    unsigned unposted;         // used up and not posted again yet
    _Atomic bool disconnected;
    _Atomic int armed; // 1: for messages, 2: for sends too; an event has yet to come, or to be read

    _Atomic uint64_t consumed; // the receiver's
    int interrupt;             // event file: the receiver sleeps on it
    _Atomic bool receiver_sleeps;
    _Atomic bool interrupted;
    struct wait_estimate estimate; // with waits for the peer
    uint32_t long_waits;           // that it was too short for
    _Atomic int64_t looked;        // when rdma_pending() last asked the kernel

    // One-sided operations: the worker's, one thread at a time.
    void *cookies[RDMA_TRANSFERS];
    uint64_t transfers_started, transfers_done;
    uint64_t transfers_moved; // when the first of those under way started, or one ended last, ms
    bool transfers_armed;     // an event has yet to come, or to be read
    int nudge;                // event file: threads that wait for transfers sleep on it too

    pthread_mutex_t region_lock;
    struct rdma_regions exposed; // to the peer
};

static inline struct rdma_link *rdma_of(struct link *link)
{
    return (struct rdma_link *)link;
}

// ---- rdma_end.c ----
int rdma_end_prepare(struct rdma_end *end, struct ibv_context *context, char *text, size_t room);
int rdma_end_register_staging(struct rdma_end *end, const struct link_staging *staging, char *text,
                              size_t room);
int rdma_end_make_staging(struct rdma_end *end, uint32_t block_size, uint32_t block_count,
                          char *text, size_t room);
void rdma_end_close(struct rdma_end *end);
// The reason in words of an attempt to register memory, with what to do about it.
void rdma_explain_registration(int error, size_t size, char *text, size_t room);

// ---- rdma_pair.c: the queue pairs of an end whose identifiers are there ----
int rdma_pair_new(struct rdma_end *end, enum rdma_channel channel);
// Completes the pair once the peer's part is known; PEER_MTU is its size of packets, 0: none. The
// resulting path is in end->path.
int rdma_pair_ready(struct rdma_end *end, enum rdma_channel channel, unsigned peer_mtu);
void rdma_end_disconnect(struct rdma_end *end);
void rdma_end_drop_channels(struct rdma_end *end); // pairs and identifiers

// ---- rdma.c: makes a link of a connected end, which it takes over ----
int rdma_link_new(struct rdma_end *end, int watch, uint64_t peer_ring, uint32_t peer_key,
                  const struct link_options *options, struct link **out);

// ---- rdma_queue.c: posting and polling the command channel ----
// Posts the committed, unsent records as one message. -EAGAIN: no credit or queue space.
int rdma_post_gathered(struct rdma_link *rdma);
void rdma_return_credit(struct rdma_link *rdma);
void rdma_post_keepalive(struct rdma_link *rdma);
bool rdma_may_post(struct rdma_link *rdma);
// Takes completions for WHO, and wakes other threads that wait for them. Does nothing if another
// thread is taking completions; that thread wakes WHO.
void rdma_progress(struct rdma_link *rdma, enum rdma_waiter who);
// To be called between arming the queue and sleeping. Another thread may be taking completions, and
// may have polled before the queue was armed; completions in between raise no event. So this waits
// until that thread is done, and polls again.
void rdma_progress_armed(struct rdma_link *rdma, enum rdma_waiter who);
// Waits for completions. Returns 0 if the caller should poll again, -ETIMEDOUT, or -EPIPE if the
// peer has gone.
int rdma_sleep(struct rdma_link *rdma, enum rdma_waiter who, uint64_t deadline);
void rdma_arm(struct rdma_link *rdma, bool sends_too);
bool rdma_peer_has_ended(struct rdma_link *rdma);
int rdma_gone(struct rdma_link *rdma);
void rdma_ring_event(int event);

// ---- rdma_gather.c ----
// Returns true if the record just committed may wait for the next one. The caller holds send_lock,
// also for rdma_gather_flushed().
bool rdma_gather_waits(struct rdma_link *rdma);
void rdma_gather_flushed(struct rdma_link *rdma);
void rdma_gather_start(struct rdma_link *rdma);
void rdma_gather_stop(struct rdma_link *rdma);

// ---- rdma_memory.c: one-sided operations and registered memory ----
int rdma_expose(struct link *link, void *base, size_t size, uint32_t *key);
void rdma_conceal(struct link *link, void *base, size_t size);
int rdma_register_local(struct link *link, const struct link_local *memory,
                        struct link_registered **out);
uint32_t rdma_local_key(const struct link_registered *memory);
void rdma_unregister_local(struct link *link, struct link_registered *memory);
int rdma_transfer_start(struct link *link, const struct link_transfer *transfer);
int rdma_transfer_poll(struct link *link, void **cookies, int room);
int rdma_transfer_wait(struct link *link, uint32_t us);
void rdma_transfer_wake(struct link *link);
void rdma_regions_limit(struct rdma_link *rdma);
void rdma_regions_free(struct rdma_link *rdma);

#endif

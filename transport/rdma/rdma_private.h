// SPDX-License-Identifier: BSD-3-Clause
// Internals of the rdma link.
#ifndef RGPU_TRANSPORT_RDMA_PRIVATE_H
#define RGPU_TRANSPORT_RDMA_PRIVATE_H

#include "transport/link/gather_guess.h"
#include "transport/link/link_private.h"
#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_address.h"
#include "transport/rdma/rdma_regions.h"
#include "transport/rdma/rdma_verbs.h"
#include "transport/tcp/tcp_stream.h"
#include "common/base/wait.h"

enum rdma_channel { RDMA_COMMANDS, RDMA_BULK, RDMA_CHANNELS };

enum {
    RDMA_RING_SIZE = 1 << 20,
    RDMA_TINY_SIZE = 4096,
    // two rings, each mapped twice, and a page
    RDMA_MEMORY_SIZE = 4 * RDMA_RING_SIZE + RDMA_TINY_SIZE,
    RDMA_RECEIVES = 256,    // receives posted to the command channel
    RDMA_SENDS = 256,       // length of its send queue
    RDMA_KEPT = 4,          // sends and receives that are reserved for credit messages
    RDMA_SIGNAL_EVERY = 32, // one of so many sends has a completion
    RDMA_REPOST = 32,       // receives are posted again in batches of this size
    RDMA_INLINE_WANTED = 220,
    RDMA_TRANSFERS = 64,  // RDMA operations in flight
    RDMA_RNR_TIMER = 12,  // 0.64 ms
    RDMA_RETRIES = 6,     // soft-RoCE retries forever with 7
    RDMA_RNR_RETRIES = 6, // 7 would be forever; credit makes retries unnecessary
    RDMA_DEAD_MS = 10000,
};

_Static_assert((RDMA_RING_SIZE & (RDMA_RING_SIZE - 1)) == 0, "positions wrap by a mask");
_Static_assert(RDMA_RING_SIZE >= 4 * WIRE_RECORD_MAX, "several records of any size fit");

// Immediate data of a message: the bytes written to the ring (in units of 8); or credit, that is,
// bytes read from the ring and receives posted again.
#define RDMA_IMMEDIATE_CREDIT 0x80000000u
#define RDMA_IMMEDIATE_BYTES(immediate) (((immediate)&0x3ffffu) * 8)
#define RDMA_IMMEDIATE_RECEIVES(immediate) ((immediate) >> 18 & 0x1fffu)
_Static_assert(RDMA_RING_SIZE / 8 < 1 << 18 && RDMA_RECEIVES < 1 << 13, "credits fit");

enum { RDMA_REGIONS_MAX = 16384 }; // maximum registrations of one session

// Attributes of an end's path.
struct rdma_path {
    unsigned mtu; // bytes
    uint8_t service_level;
    uint8_t port;
    int gid_index; // -1: packets have no GID
};

// One end, before it is connected.
struct rdma_end {
    struct rdma_options options;
    bool is_worker;
    bool borrows; // all resources but the connection are those of another end
    struct rdma_path path;
    unsigned regions_max; // maximum registrations of the device
    // maximum concurrent RDMA READs of the device: by the peer, and of the peer
    uint8_t reads_in, reads_out;
    struct rdma_event_channel *events;
    struct ibv_context *context; // device; owned by librdmacm
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions[RDMA_CHANNELS];
    struct ibv_cq *queue[RDMA_CHANNELS];
    struct rdma_cm_id *ids[RDMA_CHANNELS];
    struct ibv_qp *pairs[RDMA_CHANNELS];
    uint32_t inline_max;
    uint8_t *in, *out; // rings, each mapped twice in a row; the peer writes to `in`
    uint8_t *tiny;     // a page after the rings
    struct ibv_mr *rings;
    struct link_staging staging; // client: its own memory; worker: memory of the session
    bool owns_staging;
    struct ibv_mr *staging_mr;
    uint32_t dead_ms;
};

// Threads that process completions or sleep until there are some.
enum rdma_waiter { RDMA_RECEIVER, RDMA_SENDER, RDMA_NOBODY };

// Records that are delayed to be sent with the next ones (rdma_gather.c).
struct rdma_gather {
    struct gather_guess guess; // guarded by send_lock
    _Atomic bool ticks;        // the thread that sends delayed records is awake
    bool runs, ending;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
};

// An RDMA operation that the device carries out.
struct rdma_operation {
    enum ibv_wr_opcode opcode;
    struct ibv_sge part;
    uint64_t remote;
    uint32_t key;
    bool arrived; // complete, though the device has reported no completion
    void *cookie;
};

struct rdma_listener;

struct rdma_link {
    struct link base;
    struct rdma_end end; // ids and pairs are replaced under pairs_lock, post_lock and bulk_lock
    pthread_mutex_t pairs_lock; // a leaf
    int watch;                  // connection of the session, whose end is that of the peer
    // The same if the link survives its loss (rdma_reconnect.c). No data are sent over it.
    struct tcp_stream control;
    struct rdma_address from;    // client: address of its device
    struct rdma_listener *again; // worker: waits for new queue pairs
    uint64_t taken;              // value of `consumed` that the last RESUME had
    bool abandoned;
    uint64_t peer_ring;
    uint32_t peer_key;
    uint32_t keepalive_ms;

    pthread_mutex_t send_lock; // held from reserve to commit
    _Atomic uint64_t produced; // bytes of committed records
    uint32_t reserved;
    struct rdma_gather gather;
    int space; // eventfd on which the sender sleeps
    _Atomic bool sender_sleeps;

    pthread_mutex_t post_lock; // guards posting of sends; locked last
    _Atomic uint64_t left;     // bytes of posted records
    uint64_t posted;           // number of sends
    uint64_t messages;         // number of sends that use a receive of the peer
    uint64_t keepalive;        // number of the last keepalive send
    uint64_t asked_at;         // time when it was posted, ns
    _Atomic uint64_t bytes_reported, receives_reported;

    pthread_mutex_t poll_lock;     // guards polling of the command channel; locked before post_lock
    _Atomic uint64_t completed;    // number of completed sends
    _Atomic uint64_t acknowledged; // bytes that the peer has read
    _Atomic uint64_t messages_acknowledged;
    _Atomic uint64_t arrived;  // bytes that were written to `in`
    _Atomic uint64_t receives; // receives used and posted again
    unsigned unposted;         // receives used and not posted again
    _Atomic bool disconnected;
    _Atomic int armed; // 1: events for messages, 2: also for sends; the event has not been read yet

    _Atomic uint64_t consumed; // bytes read by the receiver
    int interrupt;             // eventfd on which the receiver sleeps
    _Atomic bool receiver_sleeps;
    _Atomic bool interrupted;
    struct wait_estimate estimate; // expected wait for the peer
    uint32_t long_waits;           // number of waits that were longer than the spin time
    _Atomic int64_t looked;        // time when rdma_pending() last polled

    // RDMA operations of the worker; one thread at a time, under bulk_lock.
    pthread_mutex_t bulk_lock;
    struct rdma_operation operations[RDMA_TRANSFERS];
    uint64_t transfers_started, transfers_done;
    unsigned transfers_arrived; // how many of these have `arrived`
    uint64_t transfers_moved;   // time of the last progress, ms
    bool transfers_armed;       // the completion event has not been read yet
    int nudge;                  // eventfd that wakes threads that wait for transfers

    pthread_mutex_t region_lock;
    struct rdma_regions exposed; // memory that the peer can access
};

static inline struct rdma_link *rdma_of(struct link *link)
{
    return (struct rdma_link *)link;
}

// Returns true while the connection is lost, or will not come back: nothing is posted or polled.
static inline bool rdma_is_lost(const struct rdma_link *rdma)
{
    return tcp_stream_lost(&rdma->control) ||
           atomic_load_explicit(&rdma->control.over, memory_order_relaxed);
}

// ---- rdma_end.c ----
int rdma_end_prepare(struct rdma_end *end, struct ibv_context *context, char *text, size_t room);
int rdma_end_register_staging(struct rdma_end *end, const struct link_staging *staging, char *text,
                              size_t room);
int rdma_end_make_staging(struct rdma_end *end, uint32_t block_size, uint32_t block_count,
                          char *text, size_t room);
void rdma_end_close(struct rdma_end *end);
// Returns an end without a connection that uses the resources of END.
struct rdma_end rdma_end_borrow(const struct rdma_end *end);
// Explains why memory could not be registered, and what to do.
void rdma_explain_registration(int error, size_t size, char *text, size_t room);

// ---- rdma_pair.c: queue pairs of an end whose connection identifiers exist ----
int rdma_pair_new(struct rdma_end *end, enum rdma_channel channel);
// Connects the queue pair. PEER_MTU is the peer's packet size; 0: none. Sets end->path.
int rdma_pair_ready(struct rdma_end *end, enum rdma_channel channel, unsigned peer_mtu);
void rdma_end_disconnect(struct rdma_end *end);
void rdma_end_drop_channels(struct rdma_end *end); // frees queue pairs and identifiers

// ---- rdma.c: creates a link from a connected end and takes ownership of the end ----
int rdma_link_new(struct rdma_end *end, int watch, uint64_t peer_ring, uint32_t peer_key,
                  const struct link_options *options, struct link **out);

// Wakes all threads that wait on the link.
void rdma_wake_waiters(struct rdma_link *rdma);

// ---- rdma_queue.c: posting and polling of the command channel ----
// Posts the committed, unsent records as one message. Returns -EAGAIN without credit or queue
// space.
int rdma_post_gathered(struct rdma_link *rdma);
void rdma_return_credit(struct rdma_link *rdma);
void rdma_post_keepalive(struct rdma_link *rdma);
bool rdma_may_post(struct rdma_link *rdma);
// Processes completions for WHO, and wakes other threads that wait for them. If another thread
// processes completions already, that thread wakes WHO instead.
void rdma_progress(struct rdma_link *rdma, enum rdma_waiter who);
// Must be called after rdma_arm() and before sleeping. Another thread may have polled before the
// queue was armed; completions since then raise no event. Waits for that thread and polls again.
void rdma_progress_armed(struct rdma_link *rdma, enum rdma_waiter who);
// Sleeps until there are completions. Returns 0 if the caller should poll, -ETIMEDOUT, or -EPIPE if
// the peer has gone.
int rdma_sleep(struct rdma_link *rdma, enum rdma_waiter who, uint64_t deadline);
void rdma_arm(struct rdma_link *rdma, bool sends_too);
bool rdma_peer_has_ended(struct rdma_link *rdma);
int rdma_gone(struct rdma_link *rdma);
// Marks the connection as lost because of ERROR, or the link as down if it does not survive that.
// Returns 0 or the error of the link.
int rdma_lose(struct rdma_link *rdma, int error, const char *reason);
void rdma_ring_event(int event);
// After the queue pairs are gone: counts what has arrived over them. The caller holds poll_lock.
void rdma_queue_halt(struct rdma_link *rdma);
// Continues after the RECEIVED bytes that the peer has, of which it has read TAKEN, with the credit
// of a new connection. Returns -EPROTO if that cannot be.
int rdma_queue_rewind(struct rdma_link *rdma, uint64_t received, uint64_t taken);

// ---- rdma_gather.c ----
// Returns true if the committed record may be delayed. For this function and rdma_gather_flushed()
// the caller holds send_lock.
bool rdma_gather_waits(struct rdma_link *rdma);
void rdma_gather_flushed(struct rdma_link *rdma);
void rdma_gather_start(struct rdma_link *rdma);
void rdma_gather_stop(struct rdma_link *rdma);

// ---- rdma_memory.c: RDMA operations and registered memory ----
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
// After the queue pairs are gone. The caller holds bulk_lock, for the next one too.
void rdma_transfers_halt(struct rdma_link *rdma);
// Starts the operations again that were not completed. Returns 0 or -errno.
int rdma_transfers_repeat(struct rdma_link *rdma);
void rdma_regions_limit(struct rdma_link *rdma);
void rdma_regions_free(struct rdma_link *rdma);

// ---- rdma_reconnect.c ----
// In the child of a fork: closes descriptors only.
void rdma_control_abandon(struct rdma_link *rdma);
void rdma_control_free(struct rdma_link *rdma);

// ---- rdma_listen.c, rdma_connect.c: new queue pairs in place of lost ones ----
// Worker: listens on the link's device, in place of an earlier rdma->again. Returns 0 or -errno.
int rdma_listen_again(struct rdma_link *rdma);
// The worker waits for the client, which connects, both with TOKEN and until WATCH closes. On
// success *OUT has the connection.
int rdma_accept_again(struct rdma_link *rdma, const uint8_t token[32], int watch,
                      struct rdma_end *out);
int rdma_connect_again(const struct rdma_link *rdma, const char *address, uint16_t port,
                       const uint8_t token[32], int watch, struct rdma_end *out);

#endif

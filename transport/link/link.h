// SPDX-License-Identifier: BSD-3-Clause
// A link: one end of a two-way channel of records between client and worker, over any transport.
//
// Each direction has one sender and one receiver at a time, which may be different threads.
//   sending     link_reserve() returns memory for one record and locks the sending direction until
//               link_commit() or link_cancel(), so any thread may send. Only write to this memory,
//               because the peer may change it. A committed record is sent soon by itself;
//               link_flush() sends it now.
//   records     begin with their size (uint32_t), which link_commit() fills in.
//   receiving   link_receive() copies the next record. The caller must ensure that only one thread
//               receives at a time.
//   bulk        link_send_bulk() sends a record and a payload of any size, without a copy if the
//               transport can. The receiver must read the payload with link_receive_bulk() after
//               the record and before the next one. The _ahead variants may return while parts of
//               the payload are in flight; the memory must stay valid until link_settle().
//   shared memory   with LINK_MEMORY_SHARED both sides map region 0 (staging blocks and a page of
//               flags), and further regions by number, whose descriptors link_send_region() sends.
//               The peer may change shared memory at any time.
//   direct access   with LINK_MEMORY_REACHED the client exposes memory with link_expose() and sends
//               the key in a record. The worker reads and writes that memory by RDMA with
//               link_transfer_start(). The client's link_staging() is always exposed.
// Functions return 0 or -errno unless stated otherwise. After a failure the link is down: every
// call returns -EPIPE or the first error, and link_error() returns the reason as text.
#ifndef RGPU_TRANSPORT_LINK_H
#define RGPU_TRANSPORT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/service/throttle.h"

struct link;

// A waiting receiver polls for spin_us microseconds before it sleeps.
struct link_options {
    uint32_t spin_us;
    uint32_t block_size;      // bytes of a staging block; 0: 512 KiB
    uint32_t block_count;     // number of staging blocks; 0: 32
    struct throttle throttle; // of what goes over the network
};
// Returns a value of spin_us for this machine: almost 0 with few processors.
uint32_t link_default_spin_us(void);

// Reserves memory for a record of SIZE bytes (a multiple of 8, at most WIRE_RECORD_MAX). Waits
// while the link is full. Returns NULL if the link is down.
void *link_reserve(struct link *link, uint32_t size);
void link_commit(struct link *link);
// Commits a record without sending it. The same thread must call link_flush() next.
void link_commit_ahead(struct link *link);
// Commits and flushes, for a sender that then waits for the answer.
int link_commit_flush(struct link *link);
void link_cancel(struct link *link); // discards the reserved record
int link_flush(struct link *link);

// Sends RECORD (SIZE bytes, a multiple of 8) and a payload of LENGTH bytes.
int link_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                   size_t length);

// Copies the next record to BUFFER of ROOM bytes (WIRE_RECORD_MAX always suffices). Returns its
// size, 0 after TIMEOUT_MS, or -errno: -EPROTO for a malformed record, -EPIPE if the peer has gone.
// TIMEOUT_MS -1 waits without limit. LINK_UNINTERRUPTIBLE too, and the link may ignore
// link_interrupt(), which can be faster.
enum { LINK_UNINTERRUPTIBLE = -2 };
int link_receive(struct link *link, void *buffer, size_t room, int timeout_ms);
int link_receive_bulk(struct link *link, void *payload, size_t length);
// Parts of payloads in flight in one direction. All zeros: none.
enum { LINK_EXTRA_MAX = 7 };
struct link_ahead {
    bool sends;
    unsigned used; // number of extra connections in use
    // by extra connection: sequence number of its last part in flight
    unsigned until[LINK_EXTRA_MAX];
    // by connection: position after the last byte
    uint64_t bytes[LINK_EXTRA_MAX + 1];
};
// As above, but may return while parts are in flight. These are added to *AHEAD, even on failure.
int link_send_bulk_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                         size_t length, struct link_ahead *ahead);
int link_receive_bulk_ahead(struct link *link, void *payload, size_t length,
                            struct link_ahead *ahead);
// Waits until the parts in AHEAD are sent or received. Any thread may call. If the link goes down,
// returns its error; the parts then no longer use the memory either.
int link_settle(struct link *link, const struct link_ahead *ahead);
// Returns true if link_receive() would not block. Never blocks; any thread may call.
bool link_pending(struct link *link);
// Returns true, once, if much that was sent waits for acknowledgements, which are received with the
// peer's records: the caller should receive what is there. Any thread may call.
bool link_wants_reading(struct link *link);
// Makes a blocked link_receive(), or else the next one that would block, return 0. Any thread may
// call.
void link_interrupt(struct link *link);

// Ways in which the two sides access each other's memory.
enum link_memory {
    LINK_MEMORY_APART,   // none
    LINK_MEMORY_SHARED,  // both sides map region 0 and memory files that either one sends
    LINK_MEMORY_WINDOW,  // both sides map parts of the window of a virtual machine
    LINK_MEMORY_REACHED, // the worker accesses the client's memory by RDMA
};
enum link_memory link_memory(const struct link *link);

struct link_staging {
    void *base; // address of region 0 in this process
    size_t size;
    uint32_t *flags;       // LINK_FLAGS completion flags in region 0
    uint64_t flags_offset; // offset in region 0
    uint64_t blocks_offset;
    uint32_t block_size;
    uint32_t block_count;
};
enum { LINK_FLAGS = 1024 };
const struct link_staging *link_staging(const struct link *link); // NULL without shared memory
// Send a descriptor to the peer as region number REGION, and receive it there. The receiver waits a
// few seconds (then -ETIMEDOUT), checks that the descriptor is of KIND (else -EINVAL), and owns
// *FD.
enum link_region_kind {
    LINK_REGION_SEALED, // a memory file with a seal against shrinking
    LINK_REGION_FILE,
    LINK_REGION_ANY, // any kind, for example a dma-buf of a driver
};
int link_send_region(struct link *link, uint32_t region, int fd);
int link_receive_region(struct link *link, uint32_t region, enum link_region_kind kind, int *fd);

// Returns the descriptor of the window that contains the link, to be mapped; -1 if there is none.
int link_window(const struct link *link);

// Client: make SIZE bytes at BASE accessible to the worker with *KEY, until link_conceal() has been
// called as often as link_expose(). The pages are locked in memory meanwhile.
int link_expose(struct link *link, void *base, size_t size, uint32_t *key);
void link_conceal(struct link *link, void *base, size_t size);
// Client: returns the key of the staging memory.
int link_expose_staging(struct link *link, uint32_t *key);
// Worker: memory of the process or of a GPU that transfers use as local memory.
struct link_registered;
struct link_local {
    void *base; // address in transfers
    size_t size;
    // dma-buf with the memory, which the caller may close after the call; -1: use `base`
    int dmabuf;
    uint64_t offset; // byte offset of the memory in the dma-buf
    bool exposed;    // the peer can access it with its key
};
// Worker: registers memory, until link_unregister() before link_free(). Returns -EOPNOTSUPP if the
// link or its device cannot, or another error of device or kernel. The link stays up.
int link_register(struct link *link, const struct link_local *memory, struct link_registered **out);
uint32_t link_registered_key(const struct link *link, const struct link_registered *memory);
// Must follow the last transfer that uses the memory.
void link_unregister(struct link *link, struct link_registered *memory);
// Worker: an RDMA operation. One thread at a time may call link_transfer_start() and _poll().
// Operations complete in order. A completed write has reached the client's memory.
struct link_transfer {
    bool write; // true: to the client's memory; false: from it
    // address in REGISTERED; if that is NULL, in staging or exposed memory; tiny writes:
    // anywhere
    void *local;
    struct link_registered *registered;
    uint32_t size;
    uint64_t remote; // address in the client
    uint32_t key;
    void *cookie; // returned by link_transfer_poll()
};
enum { LINK_TRANSFER_TINY = 8 }; // writes of at most these bytes copy the data during the call
// Starts an operation. Returns -EAGAIN if too many are in flight.
int link_transfer_start(struct link *link, const struct link_transfer *transfer);
// Stores the cookies of at most ROOM completed operations. Returns their number or -errno.
int link_transfer_poll(struct link *link, void **cookies, int room);
// Sleeps until an operation completes, link_transfer_wake() is called, or US microseconds pass. May
// return early: the caller polls again.
int link_transfer_wait(struct link *link, uint32_t us);
void link_transfer_wake(struct link *link); // any thread may call

const char *link_name(const struct link *link);  // "tcp", "shm", "rdma", "loop"
const char *link_error(const struct link *link); // reason why the link is down, or ""
// Returns the bytes of records and payloads sent and received so far. Thread-safe.
void link_bytes(const struct link *link, uint64_t *sent, uint64_t *received);
// Returns the total time that senders waited for space, in ns.
uint64_t link_waited(const struct link *link);
// Makes all calls on the link fail. Frees nothing. Any thread may call.
void link_shutdown(struct link *link);
// For the child of a fork: closes and unmaps the link's resources in this process; the parent's
// link is not affected. Takes no lock and sends nothing. Later calls fail, except link_free().
void link_abandon(struct link *link);
// Frees the link. No other thread may use it. Unsent records are lost unless link_flush() was
// called.
void link_free(struct link **link);

// tcp: creates a link over the connected stream socket FD, with TLS unless that is NULL. On success
// the link owns both. With TLS the socket must be non-blocking.
struct tls;
int link_tcp_open(int fd, struct tls *tls, const struct link_options *options, struct link **out);
// Extra connections of a tcp link carry parts of large payloads once all COUNT of them are
// connected (tcp_extra.h). link_tcp_offer() sets the maximum number; link_tcp_extra() adds one,
// which the link owns on success. -EOPNOTSUPP: not a tcp link. -EINVAL: the number was not offered.
void link_tcp_offer(struct link *link, unsigned count);
int link_tcp_extra(struct link *link, unsigned index, unsigned count, int fd, struct tls *tls);
// Client: lets the link open extra connections itself once payloads of `after` bytes were moved.
struct link_extra_plan {
    char box[288]; // address in the syntax of endpoint_parse()
    uint64_t session;
    uint8_t token[32];
    unsigned count;
    bool privacy;
    uint64_t after;
};
int link_tcp_plan(struct link *link, const struct link_extra_plan *plan);
// Lets the link survive the loss of its connections (tcp_stream.h), before anything is sent or
// received. Both sides must do so. The client connects again by itself; in the worker a new
// connection must be passed to link_resume().
struct link_reconnect {
    uint32_t timeout_ms; // how long a lost connection is waited for
    // client only
    char box[288]; // address in the syntax of endpoint_parse(); "": this is the worker
    uint64_t session;
    uint8_t token[32];
    bool privacy;
};
int link_tcp_survive(struct link *link, const struct link_reconnect *plan);
// Returns the bytes of the payloads in AHEAD that the peer has not acknowledged, and that
// link_settle() would have to copy.
size_t link_tcp_unacknowledged(struct link *link, const struct link_ahead *ahead);

// Links that survive lost connections (link_tcp_survive(), link_rdma_survive()).
//
// Worker: continues over a connection of the client in place of connection NUMBER, which is closed
// first. CLAIM is what the client has said on it, SECRET what both sides know from its proof. On
// success the link owns the connection. Returns -EALREADY if the client has connected again since,
// -EINVAL if there is no such connection.
struct control_resume;
struct control_stream;
int link_resume(struct link *link, unsigned number, const struct control_resume *claim,
                struct control_stream *stream, const uint8_t secret[32]);
// Worker: waits for connection NUMBER, if it is lost, as long as the client has asked, since the
// client has proved that it lives.
void link_reconnect_extend(struct link *link, unsigned number);
// Returns how long the link waits for lost connections; 0: it ends with them.
uint32_t link_reconnect_timeout(const struct link *link);
// Returns true while a connection is lost. Thread-safe.
bool link_reconnecting(const struct link *link);
// Marks the link as down if a connection is lost for too long. Thread-safe.
void link_reconnect_check(struct link *link);
// Client: says that it leaves, so that the worker does not wait for it. Does not wait long.
void link_goodbye(struct link *link);

// loop: creates a link with both ends in this process, for tests.
int link_loop_pair(const struct link_options *options, struct link **a, struct link **b);

// shm, worker: allocates the shared memory before a client connects, so that it can be registered
// with CUDA. link_shm_accept() then passes it to the client.
struct shm_memory;
int shm_memory_new(const struct link_options *options, struct shm_memory **out);
void shm_memory_free(struct shm_memory **memory);
const struct link_staging *shm_memory_staging(const struct shm_memory *memory);
// Sockets on which a worker waits for one client: an abstract one, and one in a directory (-1:
// none).
enum { SHM_LISTENERS = 2 };
struct shm_listener {
    int fds[SHM_LISTENERS];
    char name[64]; // name of both sockets, see common/net/worker_socket.h
};
// Creates the abstract socket. NAME NULL: chooses a name. SHOWN: the listening socket in the
// directory, which the supervisor created, or -1; the listener owns it afterwards.
int shm_listen(const char *name, int shown, struct shm_listener *out);
void shm_listener_close(struct shm_listener *listener);
// Accepts the client that presents TOKEN (32 bytes) within TIMEOUT_MS, and rejects all others.
// WATCH is the control connection or -1: the call returns -ECONNRESET if it closes, and -ECANCELED
// if the client sends on it. On success the link owns the memory and *MEMORY is NULL.
int link_shm_accept(const struct shm_listener *listener, const uint8_t token[32],
                    struct shm_memory **memory, int watch, int timeout_ms,
                    const struct link_options *options, struct link **out);
// Client: connects; NAME and DIRECTORY as for worker_socket_reach(). On both sides the link goes
// down when WATCH closes; the caller keeps ownership of WATCH.
int link_shm_connect(const char *name, const char *directory, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out);
// As link_shm_connect(), over FD, a connected non-blocking socket of worker_socket_reach(). Takes
// ownership of FD.
int link_shm_join(int fd, const uint8_t token[32], int watch, int timeout_ms,
                  const struct link_options *options, struct link **out);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// A link: one end of a session's two-way channel of records, over any transport.
//
// Each side has one sender and one receiver at a time; the two may be different threads.
//   sending     link_reserve() returns space for one record and locks the sending side until
//               link_commit() or link_cancel(), so any thread may send. The peer may see this
//               space: write to it, and never read it back. A committed record is sent soon without
//               further calls; link_flush() sends it now.
//   records     begin with their size (uint32_t), which link_commit() fills in.
//   receiving   link_receive() copies the next record out. The caller ensures that one thread
//               receives at a time.
//   bulk        link_send_bulk() sends one record and a payload of any size after it, without a
//               copy if the transport can. After the receiver has received the record, it must
//               receive the payload with link_receive_bulk() before the next record. The _ahead
//               variants may return while parts of the payload are in flight. link_settle() waits
//               for these parts; until then the link uses the memory.
//   shared memory   if link_memory() reports it: both sides map region 0 (staging blocks and a page
//               of flags) and further regions with small numbers, whose descriptors
//               link_send_region() sends. The peer may change shared memory at any time.
//   one-sided access  if link_memory() reports LINK_MEMORY_REACHED: the client exposes memory with
//               link_expose() and sends the key in a record. The worker reads and writes that
//               memory with link_transfer_start(), without the client's processor. The client's
//               link_staging() is exposed from the start.
// All functions return 0 or -errno unless stated otherwise. After a failure the link is down: every
// call returns -EPIPE or the first error, and link_error() returns the reason in words.
#ifndef RGPU_TRANSPORT_LINK_H
#define RGPU_TRANSPORT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;

// A receiver polls for spin_us microseconds, and then sleeps.
struct link_options {
    uint32_t spin_us;
    uint32_t block_size;  // staging blocks, bytes; 0: 512 KiB
    uint32_t block_count; // 0: 32
};
// Returns the polling time that suits this machine: almost none on few processors.
uint32_t link_default_spin_us(void);

// Reserves space for a record of SIZE bytes (a multiple of 8, at most WIRE_RECORD_MAX). Waits while
// records that the peer has not read fill the link. NULL: the link is down.
void *link_reserve(struct link *link, uint32_t size);
void link_commit(struct link *link);
// Commits a record that a flush by the same thread follows at once: the flush sends it.
void link_commit_ahead(struct link *link);
// Commits and flushes in one step, for a sender that then waits for the answer.
int link_commit_flush(struct link *link);
void link_cancel(struct link *link); // drops the reserved record
int link_flush(struct link *link);

// Sends RECORD (SIZE bytes, a multiple of 8) and LENGTH bytes of payload after it.
int link_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                   size_t length);

// Copies the next record to BUFFER (ROOM bytes, WIRE_RECORD_MAX suffice). Returns its size, 0 after
// TIMEOUT_MS, or -errno: -EPROTO for a malformed record, -EPIPE if the peer has gone. A TIMEOUT_MS
// of -1 waits without limit. LINK_UNINTERRUPTIBLE does so, too, and may ignore
// link_interrupt(), which can be cheaper.
enum { LINK_UNINTERRUPTIBLE = -2 };
int link_receive(struct link *link, void *buffer, size_t room, int timeout_ms);
int link_receive_bulk(struct link *link, void *payload, size_t length);
// The parts of payloads that are in flight in one direction; zeros: none.
enum { LINK_EXTRA_MAX = 7 };
struct link_ahead {
    bool sends;
    unsigned used;                  // extra connections
    unsigned until[LINK_EXTRA_MAX]; // parts of each
};
// Adds the parts that are in flight afterwards to *AHEAD, also if the call fails.
int link_send_bulk_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                         size_t length, struct link_ahead *ahead);
int link_receive_bulk_ahead(struct link *link, void *payload, size_t length,
                            struct link_ahead *ahead);
// Waits for these parts; any thread may. Returns the error of the link if it went down meanwhile;
// then no parts are in flight either.
int link_settle(struct link *link, const struct link_ahead *ahead);
// Returns true if a record, or the peer's end, can be read now. Never blocks; any thread may call.
bool link_pending(struct link *link);
// Makes the link_receive() that waits, or else the next one that would wait, return 0 at once; any
// thread may call.
void link_interrupt(struct link *link);

// The access of the two sides to each other's memory, besides sending bytes.
enum link_memory {
    LINK_MEMORY_APART,   // not at all
    LINK_MEMORY_SHARED,  // both map region 0 and memory files that either side sends
    LINK_MEMORY_WINDOW,  // both map parts of one window of a virtual machine
    LINK_MEMORY_REACHED, // the worker reads and writes the client's memory
};
enum link_memory link_memory(const struct link *link);

struct link_staging {
    void *base; // this side's mapping of region 0
    size_t size;
    uint32_t *flags;       // LINK_FLAGS completion flags, in region 0
    uint64_t flags_offset; // of flags in region 0
    uint64_t blocks_offset;
    uint32_t block_size;
    uint32_t block_count;
};
enum { LINK_FLAGS = 1024 };
const struct link_staging *link_staging(const struct link *link); // NULL where memory is not shared
// Sends a descriptor to the peer under the number REGION. The peer waits for that number
// (-ETIMEDOUT after a few seconds) and closes the descriptor after use. It gets -EINVAL if the
// descriptor is not of the expected KIND.
enum link_region_kind {
    LINK_REGION_SEALED, // a memory file that can no longer shrink
    LINK_REGION_FILE,
    LINK_REGION_ANY, // any kind that a driver provides
};
int link_send_region(struct link *link, uint32_t region, int fd);
int link_receive_region(struct link *link, uint32_t region, enum link_region_kind kind, int *fd);

// Returns the descriptor of the window in which the link lies, for mapping; -1: it is in no window.
int link_window(const struct link *link);

// The client's side: exposes SIZE bytes from BASE to the worker, which accesses them with KEY,
// until they were concealed as often as exposed. The pages stay in memory meanwhile.
int link_expose(struct link *link, void *base, size_t size, uint32_t *key);
void link_conceal(struct link *link, void *base, size_t size);
// Returns the key of the client's staging memory.
int link_expose_staging(struct link *link, uint32_t *key);
// The worker's side: memory of the worker or of a GPU that transfers may use as local memory. It is
// unregistered before link_free().
struct link_registered;
struct link_local {
    void *base; // address that transfers use
    size_t size;
    int dmabuf; // dma-buf in which the memory begins at OFFSET; -1: use the address. The caller
    uint64_t offset; // may close it after the call.
    bool exposed;    // the peer may read and write it with its key
};
// Returns -EOPNOTSUPP if the link or its device cannot register. Other errors come from the device
// or the kernel. None of them is a failure of the link.
int link_register(struct link *link, const struct link_local *memory, struct link_registered **out);
uint32_t link_registered_key(const struct link *link, const struct link_registered *memory);
// To be called after the last transfer that uses the memory.
void link_unregister(struct link *link, struct link_registered *memory);
// One thread at a time uses transfers. Operations complete in the order in which they started.
// After a write has completed, its data are in the client's memory.
struct link_transfer {
    bool write; // to the client's memory; else from it
    void *
        local; // in REGISTERED; if that is NULL in staging or exposed memory; tiny writes: anywhere
    struct link_registered *registered;
    uint32_t size;
    uint64_t remote; // address in the client
    uint32_t key;
    void *cookie; // that link_transfer_poll returns after completion
};
enum { LINK_TRANSFER_TINY = 8 }; // bytes that are written from a copy made at once
// Returns -EAGAIN if too many operations are in flight.
int link_transfer_start(struct link *link, const struct link_transfer *transfer);
// Stores the cookies of operations that have completed, at most ROOM. Returns their number or
// -errno.
int link_transfer_poll(struct link *link, void **cookies, int room);
// Sleeps until an operation has completed, a thread calls link_transfer_wake(), or US microseconds
// have passed. It may return early, so the caller polls before it calls again.
int link_transfer_wait(struct link *link, uint32_t us);
void link_transfer_wake(struct link *link); // any thread may

const char *link_name(const struct link *link);  // "tcp", "shm", "rdma", "loop"
const char *link_error(const struct link *link); // why it is down; "" while it is up
void link_bytes(const struct link *link, uint64_t *sent, uint64_t *received);
// Returns the total time that senders have waited for space, in ns.
uint64_t link_waited(const struct link *link);
// Makes every call on the link fail from now on; any thread may call. Frees nothing.
void link_shutdown(struct link *link);
// In the child of a fork: closes and unmaps this process's copies without disturbing the parent's
// link. Takes no lock and sends nothing; later calls fail, link_free() may follow.
void link_abandon(struct link *link);
// To be called when no other thread uses the link. Sends nothing; call link_flush() first.
void link_free(struct link **link);

// tcp: on success the link owns the connected stream socket FD and TLS (NULL: none). With TLS the
// socket is non-blocking.
struct tls;
int link_tcp_open(int fd, struct tls *tls, const struct link_options *options, struct link **out);
// Extra connections of a tcp link, which carry parts of large payloads after all COUNT are
// connected (tcp_extra.h). The worker first offers at most COUNT, and then adds each one, which the
// link owns on success. -EOPNOTSUPP: this is no tcp link. -EINVAL: the connection was not offered.
void link_tcp_offer(struct link *link, unsigned count);
int link_tcp_extra(struct link *link, unsigned index, unsigned count, int fd, struct tls *tls);
// The client's side: the link opens extra connections by itself after `after` bytes of payloads.
struct link_extra_plan {
    char box[288]; // address, as endpoint_parse() reads it
    uint64_t session;
    uint8_t token[32];
    unsigned count;
    bool privacy;
    uint64_t after; // bytes of payloads
};
int link_tcp_plan(struct link *link, const struct link_extra_plan *plan);

// loop: both ends in this process, for tests.
int link_loop_pair(const struct link_options *options, struct link **a, struct link **b);

// shm, the worker's side. The memory is made before a client comes, so that it can be registered
// with CUDA (shm_memory_staging); serving takes the unix socket over which the client asks for it.
struct shm_memory;
int shm_memory_new(const struct link_options *options, struct shm_memory **out);
void shm_memory_free(struct shm_memory **memory);
const struct link_staging *shm_memory_staging(const struct shm_memory *memory);
// The sockets on which one client is awaited: an abstract one, and one in a directory (-1: none).
enum { SHM_LISTENERS = 2 };
struct shm_listener {
    int fds[SHM_LISTENERS];
    char name[64]; // of both, see common/net/worker_socket.h
};
// Makes the abstract one. NAME: NULL for one that is chosen. SHOWN is the one in the directory,
// which was made by the worker's supervisor, or -1; it is the listener's from here on.
int shm_listen(const char *name, int shown, struct shm_listener *out);
void shm_listener_close(struct shm_listener *listener);
// Accepts the client that presents TOKEN (32 bytes) within TIMEOUT_MS; others are turned away.
// WATCH (or -1) is the control connection: when it closes, waiting ends with -ECONNRESET, and when
// the client speaks there instead, with -ECANCELED. On success the memory is the link's and *memory
// NULL.
int link_shm_accept(const struct shm_listener *listener, const uint8_t token[32],
                    struct shm_memory **memory, int watch, int timeout_ms,
                    const struct link_options *options, struct link **out);
// The client's side: NAME and DIRECTORY as for worker_socket_reach(). Either side watches WATCH,
// which stays the caller's, for as long as the link lives: the link goes down when it closes.
int link_shm_connect(const char *name, const char *directory, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out);
// The same over FD, a connected, non-blocking socket to the worker as worker_socket_reach() returns
// it. Takes ownership of FD.
int link_shm_join(int fd, const uint8_t token[32], int watch, int timeout_ms,
                  const struct link_options *options, struct link **out);

#endif

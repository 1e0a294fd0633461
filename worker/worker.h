// SPDX-License-Identifier: BSD-3-Clause
// What the files of the worker share: the process's warm state, the one session, and the threads
// that serve it. Who may touch what is said at each field.
#ifndef RGPU_WORKER_WORKER_H
#define RGPU_WORKER_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/control_stream.h"
#include "common/handle_table.h"
#include "worker/execute/serve.h"
#include "transport/link.h"
#include "worker_driver.h"

enum {
    DEVICES_MAX = WIRE_DEVICE_MAX,
};

// ---- the driver (driver_load.c) ----

// Loads the library and finds its functions; on failure -errno and TEXT says what to do.
int driver_load(const char *path, char *text, size_t room);
const char *driver_error_name(CUresult result);

// ---- devices (device.c) ----

struct device {
    bool present;           // what is not is of no concern to this worker
    CUdevice handle;
    CUcontext primary;      // our own reference keeps it warm; NULL: not made yet
    uint64_t context_cost;  // bytes; 0: not known
    unsigned retained;      // by the client
    uint64_t budget;        // bytes; 0: the whole device
    _Atomic uint64_t used;  // bytes that the session has allocated
    uint64_t page;          // bytes in which the driver takes memory; 0: not known
};

struct devices {
    struct device list[DEVICES_MAX]; // by the supervisor's ordinal
    int count;                       // of the list, absent ones among them
    int driver_version;
};
extern struct devices devices;

CUresult devices_discover(void);
void devices_describe(struct control_device *out);
// Makes the primary context of a device, or gives the one that is there, without making it current.
CUresult device_primary(int ordinal, CUcontext *out);
// Ends a primary context with all that it holds, and makes a fresh one.
CUresult device_reset(int ordinal);
// The description of the granted devices; heap, the caller's. NULL: no memory.
void *snapshot_make(const int *ordinals, unsigned count, size_t *size);
void snapshot_prepare(void); // asks the driver beforehand

// ---- memory that the GPU and we share (pinned.c) ----

// Region 0 and the gates, registered in the worker's first context; re-made after a reset.
struct pinned {
    CUcontext owner;                    // in which it is registered
    struct shm_memory *shm;             // until a shm link owns it
    const struct link_staging *staging; // region 0
    CUdeviceptr staging_device, flags_device;
    _Atomic uint32_t *gates;
    CUdeviceptr gates_device;
};
extern struct pinned pinned;

CUresult pinned_register(void); // the current context is the worker's first
void pinned_unregister(void);

// ---- allocations (allocation.c) ----

enum allocation_kind { ALLOCATION_DEVICE = 1, ALLOCATION_POOL, ALLOCATION_HOST };

// Counts SIZE against the device's budget; false: over it. An allocation that is added as
// ALLOCATION_DEVICE gives back what is taken for it when it is removed; so does one that is added as
// ALLOCATION_POOL, of a pool without an account, its size.
bool budget_take(int device, uint64_t size);
// The same, and pools give back what they do not use where that helps, as they do where a device's memory
// runs out.
bool budget_find(int device, uint64_t size);
void budget_give(int device, uint64_t size);
// What counts against the budget: of all processes of the lease, with their contexts.
uint64_t budget_used(int device);
int allocation_add(uint64_t address, uint64_t size, int device, CUcontext context,
                   enum allocation_kind kind);
// One of a pool that has an account, which counts it.
struct pool_account;
int allocation_add_pooled(uint64_t address, uint64_t size, int device, CUcontext context,
                          struct pool_account *account);
bool allocation_remove(uint64_t address); // false: there is none that starts there
void allocation_forget(uint64_t address); // the same, and nothing is given back
// The bytes that are taken for the one at ADDRESS alone: whole pages, less those that it shares with its
// neighbours, where the budget counts in pages; else its size.
uint64_t allocation_taken(uint64_t address);
void allocation_remove_context(CUcontext context);
bool allocation_find(uint64_t address, uint64_t *start, uint64_t *end);
// The same for what cuMemAlloc and its kin gave.
bool allocation_is_plain(uint64_t address, uint64_t *start, uint64_t *end, CUcontext *context);
uint64_t allocation_total(void); // bytes of all devices

// ---- host memory (host_memory.c) ----

// Our address of a client's WIRE_HOST name; NULL: not all of SIZE bytes are in a mapped region.
void *host_address(uint64_t host, uint64_t size);
void host_memory_prepare(void);

// ---- the session (session.c) ----

struct session {
    uint64_t id;
    struct link *link;
    struct handle_table *handles;
    struct handle_note *notes; // by handle_index
    int ordinals[DEVICES_MAX]; // the session's devices
    unsigned device_count;
    uint64_t lease_budget;     // bytes of all devices together; 0: none
    bool budgeted;             // there is that, or one of a device
    struct ledger *account;    // of the lease on this box; NULL: no other process counts
    int account_line;
    bool streams_bytes;        // the link neither shares nor reaches memory
    bool reaches_memory;       // the link reads and writes the client's memory one-sidedly
    char transport[16];
    char transport_reason[256];
    _Atomic uint64_t calls;
    _Atomic uint64_t direct_moves, staged_moves; // copies to and from memory that is reached
    _Atomic int deferred;      // CUresult of the first async failure not yet told
    _Atomic uint32_t context_epoch; // changes when a context goes away
    _Atomic uint32_t memory_epoch;  // changes when device or mapped memory goes away
    _Atomic bool prints;       // a loaded image may print
};
extern struct session session;

// What we keep about a bound handle, beside the driver's object.
struct handle_note {
    uint64_t parent;          // handle of the context, module or library that it dies with
    uint32_t parameter_bytes; // of a function or kernel, plus one; 0: not asked yet
    union {
        uint32_t event_flags; // of an event, as it was made
        int32_t pool_device;  // of a pool: which device's memory it has
        uint32_t frame_bytes; // of a function or kernel: local memory of each thread
    };
};

// Maps the account that all sessions of the lease share; -1: there is none. -errno.
int session_open_account(const struct control_grant *grant, int account_fd)
    __attribute__((warn_unused_result));
// Serves one client from its grant to the end of the process.
// Erases the secret in the grant once it is used.
void session_run(int control_fd, struct control_grant *grant, int client_fd)
    __attribute__((noreturn));
// Ends the process after telling the supervisor; any thread, first one wins.
void session_end(enum control_end_reason reason, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
bool session_report(void); // STATS, when something changed
int session_device_of(CUdevice handle);

// ---- serving (dispatch.c, serve.c) ----

enum { SERVE_FIXED_MAX = 1024 };

struct serve {
    const struct wire_request *request;
    const uint8_t *end;   // of the record
    CUresult result;
    bool reading;         // this thread is the one that reads the link
    CUcontext current;    // the driver's current context in this thread
    uint32_t epoch;       // of session.context_epoch when that was so
    uint32_t fixed_size, bytes_size;
    uint64_t known_start, known_end; // last range found by serve_device_range
    uint32_t known_epoch;
    uint8_t fixed[SERVE_FIXED_MAX];
    uint8_t *bytes;       // WIRE_INLINE_MAX + 1024
    uint8_t *record;      // WIRE_RECORD_MAX
    uint64_t token;       // of the execution under way (relief.c); 0: none
    uint8_t *payload;     // heap, of a push block that was read before its turn; else NULL
};
enum { SERVE_BYTES_MAX = WIRE_INLINE_MAX + 4096 };

struct serve *serve_new(void);
void serve_free(struct serve **serve);
// Executes the record in serve->record and answers it. False: the record cannot be right.
bool serve_record(struct serve *serve, uint32_t size);
// Its row in the table, without executing it; NULL: it cannot be right.
const struct serve_entry *serve_check(struct serve *serve, uint32_t size);
// Lets another thread read the link from here on; for a request that goes on to wait.
void serve_let_others_read(struct serve *serve);
// Around a call of the driver that drains the GPU (gates.h), where the request's trait does not say so.
void serve_drain(struct serve *serve);
void serve_drained(void);
// Waits for all work of STREAM: for a moment while reading stops, then with others reading.
CUresult serve_wait_stream(struct serve *serve, CUstream stream);
// How many reply bytes there is room for.
uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted);
bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size);
void serve_forget_children(uint64_t parent);
uint64_t serve_handle_of(enum handle_kind kind, const void *object); // 0: none
bool serve_require(struct serve *serve, const void *function); // the driver has that function

void dispatch_start(void); // the first reading thread
void dispatch_offer(void); // whoever is free takes requests from now on
void dispatch_malformed(const struct serve *serve, int size) __attribute__((noreturn));
void dispatch_link_down(int err) __attribute__((noreturn));

// Everything that a call which learned of finished GPU work must not run ahead of.
void deliver(void);

// ---- events to the client (events.c) ----

void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes);

// ---- streams that wait for another box (crossing.c) ----

// The event to record behind a client's handle: a fresh one, where somebody still waits for the last
// record.
CUevent crossing_event(struct serve *serve, uint64_t handle);
void crossing_prepare(void);

// ---- printed text (print.c) ----

int print_capture(void); // before the driver is loaded: standard output becomes a pipe of ours
void print_expect(void); // an image may print: from now on text is passed on as it comes
void print_deliver(void);

// ---- transfers over a byte stream (push.c, pull.c) ----

int push_start(void);
int pull_start(void);
void pull_deliver(void); // until pulls whose copies are done have been sent

// ---- transfers to and from memory that the link reaches (reach.c) ----

int reach_start(void);
void reach_deliver(void); // until flags that the GPU has raised have been passed on
// Before memory is freed, or the context that it is of: waits for copies that use it (direct.c).
void direct_forget(CUdeviceptr start);
// Ends the use of a region once the copies that need it are over.
void reach_forget_region(struct serve *serve, uint32_t region);
// A copy between the device and a client's WIRE_HOST name, in stream order.
void reach_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                uint64_t size, CUstream stream);
// The same for rows, between memory of the client and of the device, whose ranges have been checked.
void reach_copy_box(struct serve *serve, const CUDA_MEMCPY3D *copy, CUstream stream);
// Whether SIZE bytes from the client's WIRE_HOST name on are reached.
bool reach_has(uint64_t host, uint64_t size);
// Has flag INDEX of the client become VALUE once ours is.
void reach_signal(struct serve *serve, uint32_t index, uint32_t value);
// Has the flag told right behind the data of the copy from the device that was the stream's last request;
// false: there is no such copy any more.
bool reach_flag(CUstream stream, uint32_t index, uint32_t value);
// What is served next is more than copies and signals.
void reach_break_row(void);

// ---- the rest ----

void crash_report_start(void); // crash.c
// Once the driver is loaded: what stands in front of some of its functions.
void linker_prepare(void); // linker.c
void memory_prepare(void); // memory.c

#endif

// SPDX-License-Identifier: BSD-3-Clause
// A process holds a POSIX record lock on the byte of its slot. The kernel drops the lock however
// the process ends, so a slot's process lives exactly while the byte is locked, even if process ids
// are reused or in different namespaces. A record lock also guards the counters, because a process
// may be killed while it holds the lock. A mutex of the C library in memory that other processes
// can write would be unsafe.
#include "sim/engine/shared_state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/sim_config.h"

#define STATE_MAGIC UINT64_C(0x72677075736d3034)
#define STATE_SLOTS 1024
#define STATE_SPANS 256
#define SPAN_USES 30
#define SPANS_OFFSET ((uint64_t)2 << 20)

struct state_slot {
    uint32_t taken;
    uint32_t pid; // for people reading the file
    uint64_t used[SIM_MAX_DEVICES];
    // Only the slot's process writes these; others read them without a lock.
    _Atomic uint64_t busy[SIM_MAX_DEVICES];       // nanoseconds in which kernels ran
    _Atomic uint64_t busy_since[SIM_MAX_DEVICES]; // start of the running kernels; 0: none run
    struct shared_request request;
};

// A shared span. Each use is the slot of a process that uses it, once per use.
struct state_span {
    struct shared_span span;  // size 0: unused entry
    uint16_t uses[SPAN_USES]; // slot + 1; 0: unused
};

struct state_file {
    uint64_t magic; // written last
    struct state_slot slots[STATE_SLOTS];
    struct state_span spans[STATE_SPANS];
};

// Slot locks lie beyond the data, where no other locks are.
#define SLOT_LOCK_OFFSET ((off_t)1 << 32)
#define FILE_LOCK_OFFSET (SLOT_LOCK_OFFSET - 1)
#define STATE_LOCK_OFFSET (SLOT_LOCK_OFFSET - 2)

static struct {
    pthread_mutex_t lock; // for the threads of this process, which share one record lock
    int fd;
    int slot;
    struct state_file *file;
    // Device of the machine for each device of this process; changes when the process is moved.
    _Atomic int places[SIM_MAX_DEVICES];
    // Bytes taken before the checkpoint and by calls in progress then; under the lock.
    uint64_t aside[SIM_MAX_DEVICES];
    bool is_aside;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .slot = -1};

int shared_state_place(int ordinal)
{
    return atomic_load_explicit(&state.places[ordinal], memory_order_relaxed);
}

static int lock_byte(off_t offset, short type, int command)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    int result;
    do
        result = fcntl(state.fd, command, &lock) ? -errno : 0;
    while (result == -EINTR);
    return result;
}

static int lock_slot(int slot)
{
    return lock_byte(SLOT_LOCK_OFFSET + slot, F_WRLCK, F_SETLK);
}

static bool slot_alive(int slot)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SLOT_LOCK_OFFSET + slot, .l_len = 1};
    if (slot == state.slot)
        return true;
    return fcntl(state.fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void state_lock(void)
{
    pthread_mutex_lock(&state.lock);
    if (lock_byte(STATE_LOCK_OFFSET, F_WRLCK, F_SETLKW))
        log_error("the simulated devices' state cannot be locked");
}

static void state_unlock(void)
{
    lock_byte(STATE_LOCK_OFFSET, F_UNLCK, F_SETLK);
    pthread_mutex_unlock(&state.lock);
}

static void init_file(void)
{
    memset(state.file, 0, sizeof(*state.file));
    state.file->magic = STATE_MAGIC;
}

// Drops the spans of the slot's last owner. Called under the lock.
static void drop_uses(int slot)
{
    for (int i = 0; i < STATE_SPANS; i++)
        for (int j = 0; j < SPAN_USES; j++)
            if (state.file->spans[i].uses[j] == slot + 1)
                state.file->spans[i].uses[j] = 0;
}

// Drops the requests that the slot's last owner made, so that they do not count as its next
// owner's. Called under the lock.
static void drop_questions(int slot)
{
    for (int i = 0; i < STATE_SLOTS; i++) {
        uint32_t asking = (uint32_t)slot + 1;
        atomic_compare_exchange_strong(&state.file->slots[i].request.asking, &asking, 0);
    }
}

static int shared_state_take_slot(uint32_t pid)
{
    for (int i = 0; i < STATE_SLOTS; i++) {
        struct state_slot *slot = &state.file->slots[i];
        if (lock_slot(i))
            continue;
        memset(slot, 0, sizeof(*slot));
        drop_uses(i);
        drop_questions(i);
        slot->taken = 1;
        slot->pid = pid;
        state.slot = i;
        return 0;
    }
    return -EUSERS;
}

// Maps the file. The whole file is locked against other starting processes.
static int shared_state_map_file(bool inherited)
{
    struct stat info;
    if (fstat(state.fd, &info))
        return -errno;
    if (!inherited && info.st_uid != geteuid() && geteuid() != 0)
        return -EPERM;
    if ((size_t)info.st_size < sizeof(struct state_file) &&
        ftruncate(state.fd, sizeof(struct state_file)))
        return -errno;
    state.file =
        mmap(NULL, sizeof(struct state_file), PROT_READ | PROT_WRITE, MAP_SHARED, state.fd, 0);
    if (state.file == MAP_FAILED) {
        state.file = NULL;
        return -errno;
    }
    if (state.file->magic != STATE_MAGIC)
        init_file();
    state_lock();
    int result = shared_state_take_slot((uint32_t)getpid());
    state_unlock();
    return result;
}

// Returns N for "fd:N", a descriptor that the parent opened to choose who shares the file;
// otherwise -1.
static int inherited_descriptor(const char *path)
{
    char *end;
    long fd = strncmp(path, "fd:", 3) ? -1 : strtol(path + 3, &end, 10);
    return fd < 0 || end == path + 3 || *end ? -1 : (int)fd;
}

int shared_state_open(const char *path)
{
    int inherited = inherited_descriptor(path);
    state.fd = inherited >= 0 ? fcntl(inherited, F_DUPFD_CLOEXEC, 3)
                              : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state.fd < 0) {
        int error = -errno;
        log_error("cannot open the simulated devices' state, path=%s: %s", path, strerror(-error));
        return error;
    }
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        atomic_store(&state.places[i], i);
    int result = lock_byte(FILE_LOCK_OFFSET, F_WRLCK, F_SETLKW);
    if (!result)
        result = shared_state_map_file(inherited >= 0);
    lock_byte(FILE_LOCK_OFFSET, F_UNLCK, F_SETLK);
    if (result) {
        log_error("cannot use the simulated devices' state, path=%s: %s", path, strerror(-result));
        if (state.file)
            munmap(state.file, sizeof(*state.file));
        state.file = NULL;
        close(state.fd);
        state.fd = -1;
    }
    return result;
}

// Returns the bytes taken on a device. Empties slots of dead processes. Called under the lock.
static uint64_t shared_state_sum_used(int ordinal)
{
    uint64_t used = 0;
    for (int i = 0; i < STATE_SLOTS; i++) {
        struct state_slot *slot = &state.file->slots[i];
        if (!slot->taken)
            continue;
        if (slot_alive(i))
            used += slot->used[ordinal];
        else
            memset(slot, 0, sizeof(*slot));
    }
    return used;
}

// Returns what this process has taken, by device. Called under the lock.
static uint64_t *shared_state_taken(void)
{
    return state.is_aside ? state.aside : state.file->slots[state.slot].used;
}

int shared_state_charge(int ordinal, uint64_t bytes, uint64_t total)
{
    state_lock();
    int place = shared_state_place(ordinal);
    uint64_t used = shared_state_sum_used(place);
    bool fits = state.is_aside || (used <= total && bytes <= total - used);
    if (fits)
        shared_state_taken()[place] += bytes;
    state_unlock();
    return fits ? 0 : -ENOMEM;
}

void shared_state_release(int ordinal, uint64_t bytes)
{
    state_lock();
    shared_state_taken()[shared_state_place(ordinal)] -= bytes;
    state_unlock();
}

uint64_t shared_state_used(int ordinal)
{
    state_lock();
    uint64_t used = shared_state_sum_used(shared_state_place(ordinal));
    state_unlock();
    return used;
}

// ---- checkpointed processes ----

void shared_state_put_aside(void)
{
    uint64_t *used = state.file->slots[state.slot].used;

    state_lock();
    memcpy(state.aside, used, sizeof(state.aside));
    memset(used, 0, sizeof(state.aside));
    state.is_aside = true;
    state_unlock();
}

// Returns true if all devices have enough free memory. Devices may swap, so it counts all before
// anything is taken. Called under the lock.
static bool shared_state_has_room(const uint64_t wanted[SIM_MAX_DEVICES],
                                  const uint64_t totals[SIM_MAX_DEVICES])
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        uint64_t used = wanted[i] ? shared_state_sum_used(i) : 0;
        if (wanted[i] && (used > totals[i] || wanted[i] > totals[i] - used))
            return false;
    }
    return true;
}

int shared_state_take_back(const int places[SIM_MAX_DEVICES],
                           const uint64_t totals[SIM_MAX_DEVICES])
{
    uint64_t wanted[SIM_MAX_DEVICES] = {0};

    state_lock();
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        if (places[i] >= 0)
            wanted[places[i]] += state.aside[i];
    bool fits = shared_state_has_room(wanted, totals);
    if (fits) {
        memcpy(state.file->slots[state.slot].used, wanted, sizeof(wanted));
        state.is_aside = false;
        for (int i = 0; i < SIM_MAX_DEVICES; i++)
            if (places[shared_state_place(i)] >= 0)
                atomic_store(&state.places[i], places[shared_state_place(i)]);
    }
    state_unlock();
    return fits ? 0 : -ENOMEM;
}

struct shared_request *shared_state_own_request(void)
{
    return &state.file->slots[state.slot].request;
}

struct shared_request *shared_state_request_of(uint32_t pid)
{
    for (int i = 0; i < STATE_SLOTS; i++) {
        struct state_slot *slot = &state.file->slots[i];
        if (slot->taken && slot->pid == pid && slot_alive(i))
            return &slot->request;
    }
    return NULL;
}

bool shared_state_is_alive(const struct shared_request *request, uint32_t pid)
{
    for (int i = 0; i < STATE_SLOTS; i++)
        if (&state.file->slots[i].request == request)
            return state.file->slots[i].pid == pid && slot_alive(i);
    return false;
}

bool shared_state_begin_asking(struct shared_request *request)
{
    state_lock();
    uint32_t asking = atomic_load(&request->asking);
    bool begins = !asking || !slot_alive((int)asking - 1);
    if (begins)
        atomic_store(&request->asking, (uint32_t)state.slot + 1);
    state_unlock();
    return begins;
}

void shared_state_end_asking(struct shared_request *request)
{
    atomic_store(&request->asking, 0);
}

// ---- kernels ----

static struct {
    pthread_mutex_t lock;
    unsigned running[SIM_MAX_DEVICES];
} kernels = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t shared_state_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void shared_state_kernel_begins(int ordinal)
{
    SCOPED_LOCK(&kernels.lock);

    if (!kernels.running[ordinal]++)
        atomic_store(&state.file->slots[state.slot].busy_since[shared_state_place(ordinal)],
                     shared_state_now());
}

void shared_state_kernel_ended(int ordinal)
{
    SCOPED_LOCK(&kernels.lock);
    struct state_slot *slot = &state.file->slots[state.slot];
    int place = shared_state_place(ordinal);

    if (--kernels.running[ordinal])
        return;
    atomic_fetch_add(&slot->busy[place],
                     shared_state_now() - atomic_load(&slot->busy_since[place]));
    atomic_store(&slot->busy_since[place], 0);
}

void shared_state_close(void)
{
    if (!state.file)
        return;
    state_lock();
    memset(&state.file->slots[state.slot], 0, sizeof(struct state_slot));
    drop_uses(state.slot);
    state_unlock();
}

// ---- memory that processes share ----

_Static_assert(sizeof(struct state_file) <= SPANS_OFFSET, "spans lie behind the state");

int shared_state_file(void)
{
    return state.fd;
}

// Returns true if a living process uses the span. Empties unused entries. Called under the lock,
// like the functions below.
static bool shared_state_is_used(struct state_span *row)
{
    bool used = false;
    for (int i = 0; i < SPAN_USES; i++) {
        if (row->uses[i] && !slot_alive(row->uses[i] - 1))
            row->uses[i] = 0;
        used |= row->uses[i] != 0;
    }
    if (!used && row->span.size) {
        fallocate(state.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)row->span.offset,
                  (off_t)row->span.size);
        memset(row, 0, sizeof(*row));
    }
    return used;
}

static bool shared_state_add_use(struct state_span *row)
{
    for (int i = 0; i < SPAN_USES; i++)
        if (!row->uses[i]) {
            row->uses[i] = (uint16_t)(state.slot + 1);
            return true;
        }
    return false;
}

// Returns the offset of the first gap between spans that fits.
static uint64_t find_gap(size_t size)
{
    uint64_t at = SPANS_OFFSET;
    for (int i = 0; i < STATE_SPANS; i++) {
        const struct shared_span *span = &state.file->spans[i].span;
        if (span->size && span->offset < at + size && at < span->offset + span->size) {
            at = span->offset + span->size;
            i = -1;
        }
    }
    return at;
}

static int grow_file(uint64_t end)
{
    struct stat info;
    struct rlimit limit;
    if (fstat(state.fd, &info))
        return -errno;
    if ((uint64_t)info.st_size >= end)
        return 0;
    if (getrlimit(RLIMIT_FSIZE, &limit) || end > limit.rlim_cur)
        return -ENOMEM; // SIGXFSZ would end the process
    return ftruncate(state.fd, (off_t)end) ? -errno : 0;
}

static struct state_span *free_row(void)
{
    struct state_span *found = NULL;
    for (int i = 0; i < STATE_SPANS; i++)
        if (!shared_state_is_used(&state.file->spans[i]))
            found = &state.file->spans[i];
    return found;
}

static int take_span(size_t size, struct shared_span *span)
{
    struct state_span *row = free_row();
    uint64_t offset = find_gap(size);
    if (!row || grow_file(offset + size) ||
        getrandom(&row->span.secret, sizeof(row->span.secret), 0) != sizeof(row->span.secret))
        return -ENOMEM;
    row->span.offset = offset;
    row->span.size = size;
    shared_state_add_use(row);
    *span = row->span;
    return 0;
}

int shared_state_take_span(size_t size, struct shared_span *span)
{
    state_lock();
    int result = take_span(size, span);
    state_unlock();
    return result;
}

static struct state_span *find_span(const struct shared_span *span)
{
    for (int i = 0; i < STATE_SPANS; i++)
        if (span->size && !memcmp(&state.file->spans[i].span, span, sizeof(*span)))
            return &state.file->spans[i];
    return NULL;
}

int shared_state_join_span(const struct shared_span *span)
{
    state_lock();
    struct state_span *row = find_span(span);
    int result = row && shared_state_is_used(row) && shared_state_add_use(row) ? 0 : -ENOENT;
    state_unlock();
    return result;
}

void shared_state_leave_span(const struct shared_span *span)
{
    state_lock();
    struct state_span *row = find_span(span);
    for (int i = 0; row && i < SPAN_USES; i++)
        if (row->uses[i] == state.slot + 1) {
            row->uses[i] = 0;
            break;
        }
    if (row)
        shared_state_is_used(row);
    state_unlock();
}

// ---- observers ----

// Maps the file for an observer, which takes no lock. The file may be empty until the first process
// has filled it.
static bool map_to_look(const char *path)
{
    int inherited = inherited_descriptor(path);
    struct stat info;

    if (state.file)
        return true;
    if (state.fd < 0)
        state.fd = inherited >= 0 ? inherited : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (state.fd < 0 || fstat(state.fd, &info) || (size_t)info.st_size < sizeof(struct state_file))
        return false;
    state.file = mmap(NULL, sizeof(struct state_file), PROT_READ, MAP_SHARED, state.fd, 0);
    if (state.file == MAP_FAILED)
        state.file = NULL;
    return state.file != NULL;
}

// Returns the busy time until NOW. A kernel that ends meanwhile may be counted twice; the next
// reading corrects it.
static uint64_t busy_until(const struct state_slot *slot, int ordinal, uint64_t now)
{
    uint64_t since = atomic_load(&slot->busy_since[ordinal]);
    uint64_t busy = atomic_load(&slot->busy[ordinal]);

    return busy + (since && now > since ? now - since : 0);
}

size_t shared_state_look(const char *path, int ordinal, struct shared_use *list, size_t most)
{
    uint64_t now = shared_state_now();
    size_t count = 0;

    if (!map_to_look(path))
        return 0;
    for (int i = 0; i < STATE_SLOTS; i++) {
        const struct state_slot *slot = &state.file->slots[i];
        uint64_t used = slot->used[ordinal];
        if (!slot->taken || !used || !slot_alive(i))
            continue;
        if (count < most)
            list[count] = (struct shared_use){slot->pid, used, busy_until(slot, ordinal, now)};
        count++;
    }
    return count;
}

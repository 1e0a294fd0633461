// SPDX-License-Identifier: BSD-3-Clause
// The account of a lease in shared memory. Each line is written by its worker alone; sums are taken
// under a lock among workers, which heals itself where one of them dies with it.
#include "common/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct line {
    _Atomic uint64_t session; // 0: free
    _Atomic uint64_t used[LEDGER_DEVICES];
    _Atomic uint64_t images;
};

struct ledger {
    pthread_mutex_t lock; // of workers
    uint64_t images_limit;
    _Atomic uint64_t room[LEDGER_DEVICES];
    struct line lines[LEDGER_LINES];
};

static int start(struct ledger *ledger)
{
    pthread_mutexattr_t attributes;
    int err = pthread_mutexattr_init(&attributes);

    if (err)
        return -err;
    for (int i = 0; i < LEDGER_DEVICES; i++)
        atomic_init(&ledger->room[i], UINT64_MAX);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    err = pthread_mutex_init(&ledger->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return -err;
}

int ledger_create(int *fd)
{
    struct ledger *ledger;
    int err, made = memfd_create("rgpu-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (made < 0)
        return -errno;
    // A worker must not be able to make the supervisor's mapping end early.
    err = ftruncate(made, sizeof(*ledger)) ||
                  fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
              ? -errno
              : 0;
    if (!err)
        err = ledger_map(made, &ledger);
    if (!err) {
        err = start(ledger);
        ledger_unmap(&ledger);
    }
    if (err)
        close(made);
    else
        *fd = made;
    return err;
}

int ledger_map(int fd, struct ledger **out)
{
    off_t size = lseek(fd, 0, SEEK_END);
    void *address;

    if (size != (off_t)sizeof(struct ledger))
        return -EBADF;
    address = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return -errno;
    *out = address;
    return 0;
}

void ledger_unmap(struct ledger **ledger)
{
    if (*ledger)
        munmap(*ledger, sizeof(**ledger));
    *ledger = NULL;
}

// ---- the supervisor's side ----

static void clear(struct line *line)
{
    for (int i = 0; i < LEDGER_DEVICES; i++)
        atomic_store(&line->used[i], 0);
    atomic_store(&line->images, 0);
}

int ledger_open_line(struct ledger *ledger, uint64_t session)
{
    for (int i = 0; i < LEDGER_LINES; i++) {
        if (atomic_load(&ledger->lines[i].session))
            continue;
        clear(&ledger->lines[i]);
        atomic_store(&ledger->lines[i].session, session);
        return 0;
    }
    return -EAGAIN;
}

// Under the lock.
static bool take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit)
{
    uint64_t used = ledger_used(ledger, device), room = atomic_load(&ledger->room[device]);

    limit = limit < room ? limit : room;
    bool fits = used <= limit && size <= limit - used;

    if (fits)
        atomic_fetch_add(&ledger->lines[line].used[device], size);
    return fits;
}

static int lock_briefly(struct ledger *ledger)
{
    enum { TRIES = 10000 }; // a worker holds the lock for less than that, unless it means harm
    int err = EBUSY;

    for (int i = 0; i < TRIES && err == EBUSY; i++)
        err = pthread_mutex_trylock(&ledger->lock);
    if (err == EOWNERDEAD)
        err = pthread_mutex_consistent(&ledger->lock);
    return -err;
}

int ledger_take_first(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size,
                      uint64_t limit)
{
    int line = ledger_find_line(ledger, session);

    if (line < 0 || device >= LEDGER_DEVICES)
        return -EINVAL;
    int err = lock_briefly(ledger);
    if (err)
        return err;
    bool fits = take(ledger, line, device, size, limit);
    pthread_mutex_unlock(&ledger->lock);
    return fits ? 0 : -ENOSPC;
}

void ledger_close_line(struct ledger *ledger, uint64_t session)
{
    int line = ledger_find_line(ledger, session);

    if (line < 0)
        return;
    clear(&ledger->lines[line]);
    atomic_store(&ledger->lines[line].session, 0);
}

void ledger_set_room(struct ledger *ledger, unsigned device, uint64_t room)
{
    atomic_store(&ledger->room[device], room);
}

int ledger_shrink_room(struct ledger *ledger, unsigned device, uint64_t *room)
{
    int err = lock_briefly(ledger);

    if (err)
        return err;
    *room = ledger_used(ledger, device);
    atomic_store(&ledger->room[device], *room);
    pthread_mutex_unlock(&ledger->lock);
    return 0;
}

void ledger_limit_images(struct ledger *ledger, uint64_t limit)
{
    ledger->images_limit = limit;
}

uint64_t ledger_line_used(const struct ledger *ledger, int line, unsigned device)
{
    return atomic_load(&ledger->lines[line].used[device]);
}

// ---- the worker's side ----

int ledger_find_line(const struct ledger *ledger, uint64_t session)
{
    for (int i = 0; i < LEDGER_LINES; i++)
        if (atomic_load(&ledger->lines[i].session) == session)
            return i;
    return -ENOENT;
}

uint64_t ledger_used(const struct ledger *ledger, unsigned device)
{
    uint64_t sum = 0;

    for (int i = 0; i < LEDGER_LINES; i++)
        sum += atomic_load(&ledger->lines[i].used[device]);
    return sum;
}

static bool lock(struct ledger *ledger)
{
    int err = pthread_mutex_lock(&ledger->lock);

    if (err == EOWNERDEAD)
        err = pthread_mutex_consistent(&ledger->lock); // lines are whole at any time
    return !err;
}

bool ledger_take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit)
{
    if (device >= LEDGER_DEVICES || !lock(ledger))
        return false;
    bool fits = take(ledger, line, device, size, limit);
    pthread_mutex_unlock(&ledger->lock);
    return fits;
}

bool ledger_lacks_room(const struct ledger *ledger, unsigned device, uint64_t size, uint64_t limit)
{
    uint64_t used = device < LEDGER_DEVICES ? ledger_used(ledger, device) : UINT64_MAX;

    return used <= limit && size <= limit - used;
}

bool ledger_has_room_set(const struct ledger *ledger, unsigned device)
{
    return device < LEDGER_DEVICES && atomic_load(&ledger->room[device]) != UINT64_MAX;
}

void ledger_add(struct ledger *ledger, int line, unsigned device, uint64_t size)
{
    if (device < LEDGER_DEVICES)
        atomic_fetch_add(&ledger->lines[line].used[device], size);
}

void ledger_give(struct ledger *ledger, int line, unsigned device, uint64_t size)
{
    if (device < LEDGER_DEVICES)
        atomic_fetch_sub(&ledger->lines[line].used[device], size);
}

bool ledger_take_images(struct ledger *ledger, int line, uint64_t size)
{
    uint64_t sum = 0;

    if (!lock(ledger))
        return false;
    for (int i = 0; i < LEDGER_LINES; i++)
        sum += atomic_load(&ledger->lines[i].images);
    bool fits = sum <= ledger->images_limit && size <= ledger->images_limit - sum;
    if (fits)
        atomic_fetch_add(&ledger->lines[line].images, size);
    pthread_mutex_unlock(&ledger->lock);
    return fits;
}

void ledger_give_images(struct ledger *ledger, int line, uint64_t size)
{
    atomic_fetch_sub(&ledger->lines[line].images, size);
}

// SPDX-License-Identifier: BSD-3-Clause
// Guards with SIGSEGV, for systems without userfaultfd (old kernels, containers that forbid it).
// The handler puts its fault into a slot and sleeps until the service thread answers. Other faults
// go to the program's handler, installed before or after ours; `renew` makes ours first again.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "client-lib/cuda/managed/guard.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/base/resident.h"
#include "common/base/scope.h"
#include "common/base/uncancelled.h"

enum {
    SLOTS = 64,
    CHAIN_MAX = 16,
};

enum slot_state { SLOT_FREE, SLOT_CLAIMED, SLOT_ASKED, SLOT_REFUSED, SLOT_GRANTED };

static struct awaited_fault {
    _Atomic uint32_t state;
    uint64_t address;
    bool write;
} slots[SLOTS];

static _Atomic uint32_t asked, freed; // futexes that count up
static _Atomic uint64_t lowest = UINT64_MAX, highest;
static const struct guard_client *client;
static pid_t process;
static _Atomic uint32_t service; // the thread's number; a futex

// Handlers of the program that ours replaced, oldest first. Entries do not change.
static pthread_mutex_t chain_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction chain[CHAIN_MAX];
static atomic_int chain_length;
// Number of those handlers that this thread runs in. If one of them calls ours as its predecessor,
// ours calls the next older one.
static __thread __attribute__((tls_model("initial-exec"))) int chain_depth;

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// ---- in the thread that faults: only atomics and futexes are safe here ----

static struct awaited_fault *claim(void)
{
    for (;;) {
        uint32_t before = atomic_load(&freed);
        for (int i = 0; i < SLOTS; i++) {
            uint32_t state = SLOT_FREE;
            if (atomic_compare_exchange_strong(&slots[i].state, &state, SLOT_CLAIMED))
                return &slots[i];
        }
        futex_wait(&freed, before);
    }
}

static bool guard_signals_ask(uint64_t address, bool write)
{
    SCOPED_UNCANCELLED;
    struct awaited_fault *slot = claim();
    slot->address = address;
    slot->write = write;
    atomic_store(&slot->state, SLOT_ASKED);
    atomic_fetch_add(&asked, 1);
    futex_wake(&asked);
    while (atomic_load(&slot->state) == SLOT_ASKED)
        futex_wait(&slot->state, SLOT_ASKED);
    bool granted = atomic_load(&slot->state) == SLOT_GRANTED;
    atomic_store(&slot->state, SLOT_FREE);
    atomic_fetch_add(&freed, 1);
    futex_wake(&freed);
    return granted;
}

static bool guard_signals_is_ours(const siginfo_t *info)
{
    uint64_t address = (uintptr_t)info->si_addr;
    return info->si_code > 0 && address >= atomic_load(&lowest) &&
           address < atomic_load(&highest) && getpid() == process &&
           (uint32_t)syscall(SYS_gettid) != atomic_load(&service);
}

// Restores the default action. After the return the access repeats and ends the process.
static void act_as_default(int number, const siginfo_t *info)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(number, &standard, NULL);
    if (info->si_code <= 0) // sent by a process; it does not repeat
        raise(number);
}

static void guard_signals_pass_on(int number, siginfo_t *info, void *state)
{
    int at = atomic_load(&chain_length) - 1 - chain_depth;
    const struct sigaction *next = at >= 0 ? &chain[at] : NULL;
    if (!next || (!(next->sa_flags & SA_SIGINFO) &&
                  (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN))) {
        act_as_default(number, info);
        return;
    }
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &next->sa_mask, &before);
    chain_depth++;
    if (next->sa_flags & SA_SIGINFO)
        next->sa_sigaction(number, info, state);
    else
        next->sa_handler(number);
    chain_depth--;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#if defined(__x86_64__)
static bool fault_is_write(const ucontext_t *context)
{
    enum { ERROR_OF_WRITE = 2 }; // bit of the processor's error code

    return (context->uc_mcontext.gregs[REG_ERR] & ERROR_OF_WRITE) != 0;
}
#elif defined(__aarch64__)
// The kernel appends records to the registers. One of them has the exception syndrome.
static bool fault_is_write(const ucontext_t *context)
{
    enum { WRITE_NOT_READ = 1 << 6 };
    const unsigned char *at = context->uc_mcontext.__reserved;
    const unsigned char *end = at + sizeof(context->uc_mcontext.__reserved);
    struct esr_context record;

    for (; at + sizeof(record) <= end; at += record.head.size) {
        memcpy(&record, at, sizeof(record));
        if (record.head.magic == ESR_MAGIC)
            return (record.esr & WRITE_NOT_READ) != 0;
        if (record.head.size == 0)
            break;
    }
    return true;
}
#endif

static void on_fault(int number, siginfo_t *info, void *state)
{
    int before = errno;
    bool write = fault_is_write(state);
    bool granted = guard_signals_is_ours(info) &&
                   guard_signals_ask((uintptr_t)info->si_addr, write);
    errno = before;
    if (!granted)
        guard_signals_pass_on(number, info, state);
}

// ---- handlers ----

static bool is_on_fault(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static void guard_signals_renew(void)
{
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (sigaction(SIGSEGV, NULL, &now) != 0 || is_on_fault(&now))
        return;
    SCOPED_LOCK(&chain_lock);
    if (sigaction(SIGSEGV, NULL, &now) != 0 || is_on_fault(&now))
        return;
    int length = atomic_load(&chain_length);
    if (length == CHAIN_MAX) // the program changes its handler often: the newest replaces the last
        length--;
    chain[length] = now;
    atomic_store(&chain_length, length + 1);
    ours.sa_sigaction = on_fault;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, NULL);
}

// ---- the service thread ----

static bool guard_signals_answer_one(void)
{
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_load(&slots[i].state) != SLOT_ASKED)
            continue;
        bool granted = client->touch(slots[i].address, slots[i].write);
        atomic_store(&slots[i].state, granted ? SLOT_GRANTED : SLOT_REFUSED);
        futex_wake(&slots[i].state);
        return true;
    }
    return false;
}

static void *guard_signals_serve_faults(void *unused)
{
    atomic_store(&service, (uint32_t)syscall(SYS_gettid));
    futex_wake(&service);
    bool more = false;
    for (;;) {
        uint32_t before = atomic_load(&asked);
        if (guard_signals_answer_one())
            more = true;
        else if (more)
            more = client->ahead();
        else
            futex_wait(&asked, before);
    }
    return NULL;
}

static bool guard_signals_start(const struct guard_client *asks)
{
    client = asks;
    process = getpid();
    if (!thread_start(guard_signals_serve_faults, NULL))
        return false;
    while (!atomic_load(&service))
        futex_wait(&service, 0);
    guard_signals_renew();
    return true;
}

static int guard_signals_add(uint64_t address, size_t size)
{
    if (address < atomic_load(&lowest))
        atomic_store(&lowest, address);
    if (address + size > atomic_load(&highest))
        atomic_store(&highest, address + size);
    return 0;
}

static void guard_signals_remove_range(uint64_t address, size_t size)
{
    (void)mprotect((void *)(uintptr_t)address, size, PROT_NONE);
}

// The kernel limits the number of mappings. Entering all pages at once is faster than faulting them
// in one by one.
static int guard_signals_open_range(uint64_t address, size_t size, bool write)
{
    void *memory = (void *)(uintptr_t)address;
    if (mprotect(memory, size, write ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
        return -errno;
    (void)memory_enter_pages(memory, size, write);
    return write;
}

static int allow(uint64_t address, size_t size)
{
    int opened = guard_signals_open_range(address, size, true);
    return opened < 0 ? opened : 0;
}

static void guard_signals_close_range_of(uint64_t address, size_t size)
{
    (void)mprotect((void *)(uintptr_t)address, size, PROT_NONE);
}

const struct guard guard_signals = {
    .name = "signals",
    .start = guard_signals_start,
    .add = guard_signals_add,
    .remove = guard_signals_remove_range,
    .open = guard_signals_open_range,
    .allow = allow,
    .close = guard_signals_close_range_of,
    .renew = guard_signals_renew,
};

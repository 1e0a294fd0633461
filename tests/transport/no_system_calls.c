// SPDX-License-Identifier: BSD-3-Clause
// Tests that over shared memory, records without waiting need no system call on either side. A
// process limited to write() sends and receives thousands, and no thread was woken.
#include "tests/transport/pairs.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "transport/shm/shm_private.h"

enum { TURNS = 5000, SIZES = 300 };

static int run(struct link *from, struct link *to)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];

    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t *room = link_reserve(from, 8 + turn % SIZES * 8);
        if (!room)
            return 1;
        room[1] = turn;
        if (turn % 2)
            link_commit(from);
        else if (link_commit_flush(from))
            return 2;
        if (!link_pending(to) || link_receive(to, record, sizeof(record), -1) <= 0 ||
            record[1] != turn)
            return 3;
    }
    return 0;
}

static bool was_rung(const int events[SHM_DIRECTIONS][SHM_EVENTS])
{
    for (int d = 0; d < SHM_DIRECTIONS; d++)
        for (int e = 0; e < SHM_EVENTS; e++) {
            struct pollfd ready = {.fd = events[d][e], .events = POLLIN};
            if (poll(&ready, 1, 0))
                return true;
        }
    return false;
}

// Both ends with the same events, which stay visible to the parent.
static void make_pair(struct link *ends[2], int events[SHM_DIRECTIONS][SHM_EVENTS])
{
    struct link_options options = {.block_size = 4096, .block_count = 1};
    struct shm_memory *memory, *mapped;
    struct shm_geometry geometry;
    int sockets[2], copies[SHM_DIRECTIONS * SHM_EVENTS];

    if (shm_memory_new(&options, &memory) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets))
        bail("no memory");
    for (int i = 0; i < SHM_DIRECTIONS * SHM_EVENTS; i++) {
        copies[i] = dup(memory->events[i / SHM_EVENTS][i % SHM_EVENTS]);
        events[i / SHM_EVENTS][i % SHM_EVENTS] = dup(copies[i]);
    }
    shm_memory_geometry(memory, &geometry);
    if (shm_memory_map(dup(memory->fd), copies, &geometry, &mapped) ||
        shm_link_new("shm", SHM_WORKER, &memory, sockets[0], -1, &options, &ends[0]) ||
        shm_link_new("shm", SHM_CLIENT, &mapped, sockets[1], -1, &options, &ends[1]))
        bail("no link");
}

int main(void)
{
    int events[SHM_DIRECTIONS][SHM_EVENTS], status;
    struct link *ends[2];
    pid_t pid;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip_all("the sanitizers make system calls of their own");
#endif
    if (getenv("VALGRIND") && *getenv("VALGRIND"))
        skip_all("valgrind makes system calls of its own");
    make_pair(ends, events);
    run(ends[0], ends[1]); // whatever is done once
    run(ends[1], ends[0]);
    fflush(stdout);
    pid = fork();
    if (!pid) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
            syscall(SYS_exit, 77);
        int result = run(ends[0], ends[1]);
        if (!result)
            result = 10 * run(ends[1], ends[0]);
        syscall(SYS_exit, result); // exit_group is not allowed
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_all("no seccomp here");
    ok(WIFEXITED(status), "shm: no system call but write() in %d records each way", TURNS);
    is_int(WEXITSTATUS(status), 0, "shm: all of them arrive");
    ok(!was_rung(events), "shm: and nobody was woken, for nobody slept");
    for (int i = 0; i < SHM_DIRECTIONS * SHM_EVENTS; i++)
        close(events[i / SHM_EVENTS][i % SHM_EVENTS]);
    link_free(&ends[0]);
    link_free(&ends[1]);
    return done();
}

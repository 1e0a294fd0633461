// SPDX-License-Identifier: BSD-3-Clause
// Shared memory works between containers of one host: another host name, another view of the file
// system, other System V and process ids, but one network namespace.
#include "tests/transport/pairs.h"

#include <sched.h>
#include <sys/mount.h>

// As root, or as a user who may make namespaces of its own.
static bool enter_container(void)
{
    int others = CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID;

    if (unshare(others) && unshare(CLONE_NEWUSER | others))
        return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "/tmp", "tmpfs", 0, NULL) || mount("none", "/dev/shm", "tmpfs", 0, NULL))
        return false;
    return sethostname("elsewhere", 9) == 0;
}

static void answer(struct link *link)
{
    int64_t value = receive_value(link, 10000);

    link_staging(link)->flags[0] = 99;
    send_value(link, 64, (uint32_t)value + 1);
    receive_value(link, 10000);
}

int main(void)
{
    struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 1};
    struct pair pair = {.watch = {-1, -1}};
    int status = 0;
    pid_t pid;

    shm_prepare(&pair, &options);
    fflush(stdout);
    pid = fork();
    if (!pid) {
        close(pair.watch[1]);
        if (!enter_container())
            _exit(77);
        pid_t inner = fork(); // the first process of the new process namespace
        if (!inner) {
            shm_open_worker(&pair, &options);
            answer(pair.worker);
            _exit(0);
        }
        _exit(waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
    }
    close(pair.watch[0]);
    if (link_shm_connect(pair_listener.name, NULL, pair_token, pair.watch[1], 10000, &options,
                         &pair.client)) {
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip_all("namespaces cannot be made here");
        fail("shm: a link between namespaces");
        return done();
    }
    ok(send_value(pair.client, 64, 41), "shm: a link between namespaces");
    is_int(receive_value(pair.client, 10000), 42, "shm: records go both ways");
    is_int(link_staging(pair.client)->flags[0], 99, "shm: memory is shared");
    link_free(&pair.client);
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "shm: the other side ends well");
    shm_memory_free(&pair_memory);
    return done();
}

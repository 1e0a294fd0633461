// SPDX-License-Identifier: BSD-3-Clause
// Requests and answers are packets of fixed size over a socket pair. The parent checks every
// answer, because the worker's pipes lead into the child.
#include "daemon/suspender/driver_process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/security/capabilities.h"
#include "common/net/control.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"
#include "daemon/suspender/checkpoint_calls.h"

struct driver_request {
    enum driver_call call;
    int pid;
    unsigned timeout_ms;
    struct gpu_pairs pairs;
};

// ---- the child ----

// Moves the child's socket to a number below that of the driver's state, and closes what only the
// parent has a use for: sockets to other users' processes. The result on standard output is the
// parent's alone.
static int keep_own(int socket)
{
    enum { SOCKET = CONTROL_WORKER_DRIVER_FD - 1 };

    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || dup2(socket, SOCKET) < 0 ||
        descriptor_close_from(CONTROL_WORKER_DRIVER_FD + 1, false))
        _exit(1);
    return SOCKET;
}

static int driver_process_become(uid_t user, pid_t parent)
{
    gid_t group = user;

    if (user && (setresgid(group, group, group) || setresuid(user, user, user)))
        return -errno;
    int err = capabilities_drop();
    return err ? err : spawn_end_with(parent);
}

static CUresult restore(struct driver_request *request)
{
    CUcheckpointRestoreArgs args;

    if (!request->pairs.count)
        return checkpoint.restore(request->pid, NULL);
    gpu_pairs_complete(&request->pairs);
    args = (CUcheckpointRestoreArgs){.gpuPairs = request->pairs.list,
                                     .gpuPairsCount = request->pairs.count};
    return checkpoint.restore(request->pid, &args);
}

static CUresult driver_process_carry_out(struct driver_request *request, CUprocessState *state)
{
    CUcheckpointLockArgs args = {.timeoutMs = request->timeout_ms};

    switch (request->call) {
    case DRIVER_STATE: return checkpoint.state(request->pid, state);
    case DRIVER_LOCK: return checkpoint.lock(request->pid, &args);
    case DRIVER_CHECKPOINT: return checkpoint.checkpoint(request->pid, NULL);
    case DRIVER_RESTORE: return restore(request);
    case DRIVER_UNLOCK: return checkpoint.unlock(request->pid, NULL);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

__attribute__((noreturn)) static void serve(int socket, uid_t user, pid_t parent,
                                            const char *driver)
{
    char problem[DRIVER_PROBLEM_MAX] = "";
    struct driver_request request;
    int err = driver_process_become(user, parent);
    const char *reason = err ? strerror(-err) : checkpoint_load(driver);

    snprintf(problem, sizeof(problem), "%s", reason ? reason : "");
    if (send(socket, problem, sizeof(problem), MSG_NOSIGNAL) < 0 || reason)
        _exit(1);
    while (recv(socket, &request, sizeof(request), 0) == sizeof(request)) {
        struct driver_answer answer = {0};
        answer.result = driver_process_carry_out(&request, &answer.state);
        snprintf(answer.name, sizeof(answer.name), "%s", checkpoint_error(answer.result));
        if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

// ---- the parent ----

int driver_process_start(uid_t user, const char *driver)
{
    pid_t parent = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    SCOPED_FD int own = ends[0], child = ends[1];
    pid_t pid = fork();
    if (!pid)
        serve(keep_own(child), user, parent, driver);
    return pid < 0 ? -errno : scoped_take_fd(&own);
}

// A worker's user may have written TEXT: it becomes one line of printable characters.
static void make_line(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

int driver_process_await(int process, char text[DRIVER_PROBLEM_MAX])
{
    if (recv(process, text, DRIVER_PROBLEM_MAX, 0) != DRIVER_PROBLEM_MAX)
        snprintf(text, DRIVER_PROBLEM_MAX, "the process that loads the driver has ended");
    make_line(text, DRIVER_PROBLEM_MAX);
    return *text ? -1 : 0;
}

struct driver_answer driver_process_call(int process, enum driver_call call, int pid,
                                         unsigned timeout_ms, const struct gpu_pairs *pairs)
{
    struct driver_request request = {.call = call, .pid = pid, .timeout_ms = timeout_ms};
    struct driver_answer answer;

    if (pairs)
        request.pairs = *pairs;
    if (send(process, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
        recv(process, &answer, sizeof(answer), 0) != sizeof(answer))
        return (struct driver_answer){.result = CUDA_ERROR_OPERATING_SYSTEM,
                                      .name = "no answer (its helper process has ended)"};
    make_line(answer.name, sizeof(answer.name));
    return answer;
}

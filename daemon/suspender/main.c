// SPDX-License-Identifier: BSD-3-Clause
// rgpu-suspender moves the device memory of a lease's workers to the host, or back, perhaps to
// other GPUs. One process handles one suspension or resumption: rgpud loads no driver, and the
// calls take time in proportion to the bytes. This process loads no driver either; for each user of
// workers it starts a child that calls the driver (driver_process.h).
//
// It handles all workers or none. If one cannot be suspended, the others are resumed. If the memory
// of one cannot be restored, all stay suspended. The first line on standard output is the result:
//
//     done                  status 0
//     later REASON          status 1: nothing has changed; another attempt may succeed, because the
//                           GPU is busy or its memory taken
//     failed REASON         status 2: nothing has changed, and another attempt would fail too
//     lost REASON           status 3: some workers are neither suspended nor running
//
// A second line lists the workers that are on other GPUs than before: moved PID ...
//
// If the driver does not answer in time, rgpud kills the suspender and runs "settle": if all
// workers are suspended, they stay suspended (later); otherwise all are resumed (done).
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/security/capabilities.h"
#include "common/base/scope.h"
#include "daemon/suspender/driver_process.h"
#include "daemon/suspender/gpu_pairs.h"

enum { WORKERS_MAX = 1024, PROBE_MS = 100, END_MS = 5000 };
enum upshot { DONE, LATER, FAILED, LOST };

static struct {
    int pids[WORKERS_MAX];
    uid_t users[WORKERS_MAX];                  // 0: this process's
    int drivers[WORKERS_MAX];                  // the process that makes the calls of each
    struct gpu_pairs *pairs[WORKERS_MAX];      // target GPUs; NULL: the same as before
    bool moved[WORKERS_MAX];                   // the worker is on its target GPUs
    char errors[WORKERS_MAX][DRIVER_NAME_MAX]; // name of the last error
    size_t count;
    unsigned timeout_ms;
} work;

static const char usage[] = "usage: rgpu-suspender suspend MILLISECONDS DRIVER WORKER ...\n"
                            "       rgpu-suspender resume 0 DRIVER WORKER ...\n"
                            "       rgpu-suspender settle 0 DRIVER WORKER ...\n"
                            "WORKER is PID[@USER][:UUID=UUID,...].\n"
                            "rgpu-spawner starts it.\n";

// Prints the workers that are on other GPUs than before, suspended ones included.
static void say_moved(void)
{
    bool any = false;

    for (size_t i = 0; i < work.count; i++) {
        if (work.moved[i])
            printf(any ? " %d" : "moved %d", work.pids[i]);
        any |= work.moved[i];
    }
    if (any)
        puts("");
}

static int suspender_say(enum upshot outcome, const char *what, size_t which)
{
    static const char *const words[] = {"done", "later", "failed", "lost"};

    if (outcome == DONE)
        puts(words[outcome]);
    else
        printf("%s %s pid=%d error=%s\n", words[outcome], what, work.pids[which],
               *work.errors[which] ? work.errors[which] : "none");
    say_moved();
    fflush(stdout);
    return (int)outcome;
}

// Returns true if the driver gives this error only for a process that runs.
static bool is_of_the_living(CUresult result)
{
    return result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_OUT_OF_MEMORY ||
           result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_ILLEGAL_STATE;
}

// Returns true if the worker has ended; it has no memory on a GPU then. A worker that is ending
// leaves the driver before its process ends, so this waits for the end of the process.
static bool suspender_is_gone(int pid, CUresult result)
{
    SCOPED_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return errno == ESRCH;
    return poll(&end, 1, is_of_the_living(result) ? 0 : END_MS) > 0;
}

static CUresult each(size_t count, CUresult (*act)(size_t i), size_t *failed)
{
    CUresult first = CUDA_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        CUresult result = act(i);
        if (result && suspender_is_gone(work.pids[i], result))
            continue;
        if (result && !first)
            *failed = i;
        first = first ? first : result;
    }
    return first;
}

static struct driver_answer suspender_call(size_t i, enum driver_call what,
                                           const struct gpu_pairs *pairs)
{
    struct driver_answer answer =
        driver_process_call(work.drivers[i], what, work.pids[i], work.timeout_ms, pairs);

    if (answer.result)
        memcpy(work.errors[i], answer.name, sizeof(answer.name));
    return answer;
}

static CUresult lock(size_t i)
{
    return suspender_call(i, DRIVER_LOCK, NULL).result;
}

static CUresult unlock(size_t i)
{
    return suspender_call(i, DRIVER_UNLOCK, NULL).result;
}

static CUresult suspender_take_away(size_t i)
{
    return suspender_call(i, DRIVER_CHECKPOINT, NULL).result;
}

static bool suspender_is_in(size_t i, CUprocessState wanted)
{
    struct driver_answer answer =
        driver_process_call(work.drivers[i], DRIVER_STATE, work.pids[i], 0, NULL);

    return !answer.result && answer.state == wanted;
}

static CUresult put_back_as_it_was(size_t i)
{
    return suspender_call(i, DRIVER_RESTORE, NULL).result;
}

static CUresult suspender_put_back(size_t i)
{
    const struct gpu_pairs *pairs = work.pairs[i];
    // An earlier attempt whose suspender was killed may have completed.
    CUresult result = suspender_is_in(i, CU_PROCESS_STATE_LOCKED)
                          ? CUDA_SUCCESS
                          : suspender_call(i, DRIVER_RESTORE, pairs).result;

    work.moved[i] |= !result && pairs;
    return result;
}

// The driver (580) reports once that the memory of a process found no room, and after that that the
// process is lost.
static CUresult put_back_or_know(size_t i)
{
    CUresult result = suspender_put_back(i);

    return result == CUDA_ERROR_OUT_OF_MEMORY ? suspender_put_back(i) : result;
}

// The first that does not go, with those before it done. Each locks before any is taken away, as
// they may share memory.
static CUresult until_failure(CUresult (*act)(size_t i), size_t *done)
{
    for (*done = 0; *done < work.count; ++*done) {
        CUresult result = act(*done);
        if (result && !suspender_is_gone(work.pids[*done], result))
            return result;
    }
    return CUDA_SUCCESS;
}

static const char *why_not_locked(CUresult result)
{
    return result == CUDA_ERROR_NOT_READY ? "its work on the GPU does not come to an end"
           : result == CUDA_ERROR_NOT_SUPPORTED
               ? "the driver does not suspend processes of this kind, as those of MPS"
               : "it cannot be locked";
}

static const char *why_not_taken(CUresult result)
{
    return result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_UNKNOWN
               ? "the driver cannot take what it has off the GPU, as managed memory"
           : result == CUDA_ERROR_OUT_OF_MEMORY
               ? "it may not have so much memory of the box (worker_memory)"
               : "its memory cannot be taken off the GPU";
}

static int suspender_suspend(void)
{
    size_t locked, away, failed = 0;
    CUresult result = until_failure(lock, &locked), again;

    if (result) {
        again = each(locked, unlock, &failed);
        return again ? suspender_say(LOST, "cannot be unlocked", failed)
                     : suspender_say(result == CUDA_ERROR_NOT_READY ? LATER : FAILED,
                                     why_not_locked(result), locked);
    }
    result = until_failure(suspender_take_away, &away);
    if (!result)
        return suspender_say(DONE, "", 0);
    again = each(away, put_back_as_it_was, &failed);
    if (!again)
        again = each(work.count, unlock, &failed);
    return again ? suspender_say(LOST, "cannot be brought back", failed)
                 : suspender_say(FAILED, why_not_taken(result), away);
}

static int suspender_resume(void)
{
    size_t back, failed = 0;
    CUresult result = until_failure(put_back_or_know, &back), again;

    if (!result) {
        again = each(work.count, unlock, &failed);
        return again ? suspender_say(LOST, "cannot be unlocked", failed)
                     : suspender_say(DONE, "", 0);
    }
    // Pairs that the driver does not take leave the process as it is.
    bool stays = work.pairs[back] && suspender_is_in(back, CU_PROCESS_STATE_CHECKPOINTED);
    if (result != CUDA_ERROR_OUT_OF_MEMORY && !stays)
        return suspender_say(LOST, "its memory does not come back to the GPU", back);
    again = each(back, suspender_take_away, &failed);
    return again ? suspender_say(LOST, "cannot be taken away again", failed)
           : result == CUDA_ERROR_OUT_OF_MEMORY
               ? suspender_say(LATER, "its memory finds no room on the GPU", back)
               : suspender_say(FAILED, "the driver does not put its memory onto that GPU", back);
}

// ---- after an attempt with an unknown end ----

static bool all_away(void)
{
    for (size_t i = 0; i < work.count; i++)
        if (!suspender_is_in(i, CU_PROCESS_STATE_CHECKPOINTED) &&
            !suspender_is_gone(work.pids[i], CUDA_ERROR_NOT_READY))
            return false;
    return true;
}

// A running process may have a pending request to lock. A lock of our own, which is executed after
// that, leaves none. If GPUs are named, the attempt was for these.
static CUresult have_run(size_t i)
{
    CUresult result = suspender_is_in(i, CU_PROCESS_STATE_CHECKPOINTED) ? suspender_put_back(i)
                                                                        : CUDA_SUCCESS;

    if (result)
        return result;
    work.moved[i] = work.pairs[i] != NULL;
    if (suspender_is_in(i, CU_PROCESS_STATE_RUNNING) && lock(i) == CUDA_ERROR_NOT_READY)
        return CUDA_SUCCESS; // its work goes on, and nothing is locked
    return suspender_is_in(i, CU_PROCESS_STATE_LOCKED) ? unlock(i) : CUDA_SUCCESS;
}

static int suspender_settle(void)
{
    size_t failed = 0;

    work.timeout_ms = PROBE_MS;
    if (all_away())
        return suspender_say(LATER, "all are suspended", 0);
    CUresult result = each(work.count, have_run, &failed);
    return result ? suspender_say(LOST, "cannot be brought back", failed)
                  : suspender_say(DONE, "", 0);
}

// ---- the order ----

static bool read_worker(char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    unsigned long user = *end == '@' ? strtoul(end + 1, &end, 10) : 0;

    if (pid < 2 || pid > INT_MAX || user >= UINT_MAX || (*end && *end != ':'))
        return false;
    if (*end && !(work.pairs[work.count] = gpu_pairs_read(end + 1)))
        return false;
    work.pids[work.count] = (int)pid;
    work.users[work.count++] = (uid_t)user;
    return true;
}

static bool read_workers(int argc, char **argv)
{
    if (argc > WORKERS_MAX)
        return false;
    for (int i = 0; i < argc; i++)
        if (!read_worker(argv[i]))
            return false;
    return work.count != 0;
}

// Returns the index of the first worker of worker I's user.
static size_t first_of_user(size_t i)
{
    size_t first = 0;

    while (work.users[first] != work.users[i])
        first++;
    return first;
}

// Starts one process for each user, then gives up the right to become a user, then waits: drivers
// load at the same time.
static int start_drivers(const char *driver)
{
    char problem[DRIVER_PROBLEM_MAX];
    int err = 0;

    for (size_t i = 0; i < work.count && !err; i++) {
        size_t first = first_of_user(i);
        work.drivers[i] = first == i ? driver_process_start(work.users[i], driver)
                                     : work.drivers[first];
        err = work.drivers[i] < 0 ? work.drivers[i] : 0;
    }
    if (!err)
        err = capabilities_drop();
    if (err) {
        printf("failed cannot start a process for the driver: %s\n", strerror(-err));
        return err;
    }
    for (size_t i = 0; i < work.count; i++)
        if (first_of_user(i) == i && driver_process_await(work.drivers[i], problem)) {
            printf("failed %s\n", problem);
            return -ENODEV;
        }
    return 0;
}

int main(int argc, char **argv)
{
    bool suspends = argc > 4 && !strcmp(argv[1], "suspend");
    bool resumes = argc > 4 && !strcmp(argv[1], "resume");
    bool settles = argc > 4 && !strcmp(argv[1], "settle");
    char *end = "";

    if (suspends)
        work.timeout_ms = (unsigned)strtoul(argv[2], &end, 10);
    if ((!suspends && !resumes && !settles) || *end || !read_workers(argc - 4, argv + 4)) {
        fputs(usage, stderr);
        return FAILED;
    }
    if (start_drivers(argv[3]))
        return FAILED;
    return suspends ? suspender_suspend() : resumes ? suspender_resume() : suspender_settle();
}

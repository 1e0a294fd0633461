// SPDX-License-Identifier: BSD-3-Clause
// rgpu-suspender: takes the memory of a lease's workers off the GPUs into their own memory, or puts it back, perhaps
// on other GPUs, by the driver's checkpoint calls. It is a process of its own for each time, since rgpud loads nothing
// of a driver and the calls take as long as the bytes do.
//
// All of the workers or none: where one cannot be suspended, the others go on as before; where the memory of one finds
// no room, all stay suspended. One line on standard output says what came of it:
//
//     done                  status 0
//     later REASON          status 1: nothing has changed, and another time it may go; work does not come to an end,
//                           or the memory of the GPU is taken
//     failed REASON         status 2: nothing has changed, and it will not go
//     lost REASON           status 3: some are neither suspended nor do they run
//
// A further line names the workers that are on other GPUs than before: moved PID ...
//
// rgpud ends it where the driver does not answer in time, and then has "settle" find out how far it came: all that are
// away stay so (later), and otherwise all run again (done).
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scope.h"
#include "suspender/checkpoint_calls.h"
#include "suspender/gpu_pairs.h"

enum { WORKERS_MAX = 1024, PROBE_MS = 100, END_MS = 5000 };
enum upshot { DONE, LATER, FAILED, LOST };

static struct {
    int pids[WORKERS_MAX];
    struct gpu_pairs *pairs[WORKERS_MAX]; // on which GPUs it is put back; NULL: where it was
    bool moved[WORKERS_MAX];              // and has been
    size_t count;
    unsigned timeout_ms;
} work;

static const char usage[] = "usage: rgpu-suspender suspend MILLISECONDS DRIVER PID ...\n"
                            "       rgpu-suspender resume 0 DRIVER PID[:UUID=UUID,...] ...\n"
                            "       rgpu-suspender settle 0 DRIVER PID[:UUID=UUID,...] ...\n"
                            "rgpu-spawner starts it.\n";

// On a second line those that are on other GPUs than before, also where they are suspended there.
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

static int say(enum upshot outcome, const char *what, size_t which, CUresult result)
{
    static const char *const words[] = {"done", "later", "failed", "lost"};

    if (outcome == DONE)
        puts(words[outcome]);
    else
        printf("%s %s pid=%d error=%s\n", words[outcome], what, work.pids[which],
               checkpoint_error(result));
    say_moved();
    fflush(stdout);
    return (int)outcome;
}

// What only a process that lives is told.
static bool is_of_the_living(CUresult result)
{
    return result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_OUT_OF_MEMORY ||
           result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_ILLEGAL_STATE;
}

// Whoever has ended meanwhile has no memory on a GPU either. Who is just ending has left the driver and is still a
// process, so that is waited for.
static bool is_gone(int pid, CUresult result)
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
        if (result && is_gone(work.pids[i], result))
            continue;
        if (result && !first)
            *failed = i;
        first = first ? first : result;
    }
    return first;
}

static CUresult lock(size_t i)
{
    CUcheckpointLockArgs args = {.timeoutMs = work.timeout_ms};

    return checkpoint.lock(work.pids[i], &args);
}

static CUresult unlock(size_t i)
{
    return checkpoint.unlock(work.pids[i], NULL);
}

static CUresult take_away(size_t i)
{
    return checkpoint.checkpoint(work.pids[i], NULL);
}

static bool is_in(size_t i, CUprocessState wanted)
{
    CUprocessState state;

    return !checkpoint.state(work.pids[i], &state) && state == wanted;
}

static CUresult put_back_as_it_was(size_t i)
{
    return checkpoint.restore(work.pids[i], NULL);
}

static CUresult put_back(size_t i)
{
    struct gpu_pairs *pairs = work.pairs[i];
    CUcheckpointRestoreArgs args = {.gpuPairs = pairs ? pairs->list : NULL,
                                    .gpuPairsCount = pairs ? pairs->count : 0};
    // An earlier attempt that was given up may have come to its end.
    CUresult result = is_in(i, CU_PROCESS_STATE_LOCKED)
                          ? CUDA_SUCCESS
                          : checkpoint.restore(work.pids[i], pairs ? &args : NULL);

    work.moved[i] |= !result && pairs;
    return result;
}

// Of one whose memory found no room the driver (580) says so once, and then that it is lost.
static CUresult put_back_or_know(size_t i)
{
    CUresult result = put_back(i);

    return result == CUDA_ERROR_OUT_OF_MEMORY ? put_back(i) : result;
}

// The first that does not go, with those before it done. Each locks before any is taken away, as they may share
// memory.
static CUresult until_failure(CUresult (*act)(size_t i), size_t *done)
{
    for (*done = 0; *done < work.count; ++*done) {
        CUresult result = act(*done);
        if (result && !is_gone(work.pids[*done], result))
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

static int suspend(void)
{
    size_t locked, away, failed = 0;
    CUresult result = until_failure(lock, &locked), again;

    if (result) {
        again = each(locked, unlock, &failed);
        return again ? say(LOST, "cannot be unlocked", failed, again)
                     : say(result == CUDA_ERROR_NOT_READY ? LATER : FAILED, why_not_locked(result),
                           locked, result);
    }
    result = until_failure(take_away, &away);
    if (!result)
        return say(DONE, "", 0, CUDA_SUCCESS);
    again = each(away, put_back_as_it_was, &failed);
    if (!again)
        again = each(work.count, unlock, &failed);
    return again ? say(LOST, "cannot be brought back", failed, again)
                 : say(FAILED, why_not_taken(result), away, result);
}

static int resume(void)
{
    size_t back, failed = 0;
    CUresult result = until_failure(put_back_or_know, &back), again;

    if (!result) {
        again = each(work.count, unlock, &failed);
        return again ? say(LOST, "cannot be unlocked", failed, again)
                     : say(DONE, "", 0, CUDA_SUCCESS);
    }
    // Pairs that the driver does not take leave the process as it is.
    bool stays = work.pairs[back] && is_in(back, CU_PROCESS_STATE_CHECKPOINTED);
    if (result != CUDA_ERROR_OUT_OF_MEMORY && !stays)
        return say(LOST, "its memory does not come back to the GPU", back, result);
    again = each(back, take_away, &failed);
    return again ? say(LOST, "cannot be taken away again", failed, again)
           : result == CUDA_ERROR_OUT_OF_MEMORY
               ? say(LATER, "its memory finds no room on the GPU", back, result)
               : say(FAILED, "the driver does not put its memory onto that GPU", back, result);
}

// ---- after an attempt that nobody knows the end of ----

static bool all_away(void)
{
    for (size_t i = 0; i < work.count; i++)
        if (!is_in(i, CU_PROCESS_STATE_CHECKPOINTED) &&
            !is_gone(work.pids[i], CUDA_ERROR_NOT_READY))
            return false;
    return true;
}

// One that runs may have a request to lock before it that it has not come to: a lock of our own, which is carried out
// behind that, leaves none. Where GPUs are named, it was those that the attempt was for.
static CUresult have_run(size_t i)
{
    CUresult result = is_in(i, CU_PROCESS_STATE_CHECKPOINTED) ? put_back(i) : CUDA_SUCCESS;

    if (result)
        return result;
    work.moved[i] = work.pairs[i] != NULL;
    if (is_in(i, CU_PROCESS_STATE_RUNNING) && lock(i) == CUDA_ERROR_NOT_READY)
        return CUDA_SUCCESS; // its work goes on, and nothing is locked
    return is_in(i, CU_PROCESS_STATE_LOCKED) ? unlock(i) : CUDA_SUCCESS;
}

static int settle(void)
{
    size_t failed = 0;

    work.timeout_ms = PROBE_MS;
    if (all_away())
        return say(LATER, "all are suspended", 0, CUDA_SUCCESS);
    CUresult result = each(work.count, have_run, &failed);
    return result ? say(LOST, "cannot be brought back", failed, result)
                  : say(DONE, "", 0, CUDA_SUCCESS);
}

// ---- what is asked ----

static bool read_pids(int argc, char **argv)
{
    if (argc > WORKERS_MAX)
        return false;
    for (int i = 0; i < argc; i++) {
        char *end;
        long pid = strtol(argv[i], &end, 10);
        if (pid < 2 || pid > 0x7fffffff || (*end && *end != ':'))
            return false;
        if (*end && !(work.pairs[work.count] = gpu_pairs_read(end + 1)))
            return false;
        work.pids[work.count++] = (int)pid;
    }
    return work.count != 0;
}

int main(int argc, char **argv)
{
    bool suspends = argc > 4 && !strcmp(argv[1], "suspend");
    bool resumes = argc > 4 && !strcmp(argv[1], "resume");
    bool settles = argc > 4 && !strcmp(argv[1], "settle");
    char *end = "";

    if (suspends)
        work.timeout_ms = (unsigned)strtoul(argv[2], &end, 10);
    if ((!suspends && !resumes && !settles) || *end || !read_pids(argc - 4, argv + 4)) {
        fputs(usage, stderr);
        return FAILED;
    }
    const char *problem = checkpoint_load(argv[3]);
    if (problem) {
        printf("failed %s\n", problem);
        return FAILED;
    }
    for (size_t i = 0; i < work.count; i++)
        if (work.pairs[i])
            gpu_pairs_complete(work.pairs[i]);
    return suspends ? suspend() : resumes ? resume() : settle();
}

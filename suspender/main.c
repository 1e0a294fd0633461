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
// rgpud ends it where the driver does not answer in time, and then has "settle" find out how far it came: all that are
// away stay so (later), and otherwise all run again (done).
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "suspender/checkpoint_calls.h"

enum { WORKERS_MAX = 1024, PAIRS_MAX = 64, PROBE_MS = 100 };
enum upshot { DONE, LATER, FAILED, LOST };

static struct {
    int pids[WORKERS_MAX];
    size_t count;
    CUcheckpointGpuPair pairs[PAIRS_MAX];
    unsigned pair_count;
    unsigned timeout_ms;
} work;

static const char usage[] = "usage: rgpu-suspender suspend MILLISECONDS DRIVER PID ...\n"
                            "       rgpu-suspender resume UUID=UUID,...|- DRIVER PID ...\n"
                            "       rgpu-suspender settle - DRIVER PID ...\n"
                            "rgpud starts it.\n";

static int say(enum upshot outcome, const char *what, int pid, CUresult result)
{
    static const char *const words[] = {"done", "later", "failed", "lost"};

    if (outcome == DONE)
        puts(words[outcome]);
    else
        printf("%s %s pid=%d error=%s\n", words[outcome], what, pid, checkpoint_error(result));
    fflush(stdout);
    return (int)outcome;
}

// Whoever has ended meanwhile has no memory on a GPU either.
static bool is_gone(int pid)
{
    return kill(pid, 0) && errno == ESRCH;
}

static CUresult each(size_t count, CUresult (*act)(int pid), size_t *failed)
{
    CUresult first = CUDA_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        CUresult result = act(work.pids[i]);
        if (result && is_gone(work.pids[i]))
            continue;
        if (result && !first)
            *failed = i;
        first = first ? first : result;
    }
    return first;
}

static CUresult lock(int pid)
{
    CUcheckpointLockArgs args = {.timeoutMs = work.timeout_ms};

    return checkpoint.lock(pid, &args);
}

static CUresult unlock(int pid)
{
    return checkpoint.unlock(pid, NULL);
}

static CUresult take_away(int pid)
{
    return checkpoint.checkpoint(pid, NULL);
}

static bool is_in(int pid, CUprocessState wanted)
{
    CUprocessState state;

    return !checkpoint.state(pid, &state) && state == wanted;
}

static CUresult put_back(int pid)
{
    CUcheckpointRestoreArgs args = {.gpuPairs = work.pairs, .gpuPairsCount = work.pair_count};

    // An earlier attempt that was given up may have come to its end.
    if (is_in(pid, CU_PROCESS_STATE_LOCKED))
        return CUDA_SUCCESS;
    return checkpoint.restore(pid, work.pair_count ? &args : NULL);
}

// Of one whose memory found no room the driver (580) says so once, and then that it is lost.
static CUresult put_back_or_know(int pid)
{
    CUresult result = put_back(pid);

    return result == CUDA_ERROR_OUT_OF_MEMORY ? put_back(pid) : result;
}

static CUresult put_back_as_it_was(int pid)
{
    return checkpoint.restore(pid, NULL);
}

// The first that does not go, with those before it done. Each locks before any is taken away, as they may share
// memory.
static CUresult until_failure(CUresult (*act)(int pid), size_t *done)
{
    for (*done = 0; *done < work.count; ++*done) {
        CUresult result = act(work.pids[*done]);
        if (result && !is_gone(work.pids[*done]))
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
        return again ? say(LOST, "cannot be unlocked", work.pids[failed], again)
                     : say(result == CUDA_ERROR_NOT_READY ? LATER : FAILED, why_not_locked(result),
                           work.pids[locked], result);
    }
    result = until_failure(take_away, &away);
    if (!result)
        return say(DONE, "", 0, CUDA_SUCCESS);
    again = each(away, put_back_as_it_was, &failed);
    if (!again)
        again = each(work.count, unlock, &failed);
    return again ? say(LOST, "cannot be brought back", work.pids[failed], again)
                 : say(FAILED, why_not_taken(result), work.pids[away], result);
}

static int resume(void)
{
    size_t back, failed = 0;
    CUresult result = until_failure(put_back_or_know, &back), again;

    if (!result) {
        again = each(work.count, unlock, &failed);
        return again ? say(LOST, "cannot be unlocked", work.pids[failed], again)
                     : say(DONE, "", 0, CUDA_SUCCESS);
    }
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return say(LOST, "its memory does not come back to the GPU", work.pids[back], result);
    again = each(back, take_away, &failed);
    return again ? say(LOST, "cannot be taken away again", work.pids[failed], again)
                 : say(LATER, "its memory finds no room on the GPU", work.pids[back], result);
}

// ---- after an attempt that nobody knows the end of ----

static bool all_away(void)
{
    for (size_t i = 0; i < work.count; i++)
        if (!is_in(work.pids[i], CU_PROCESS_STATE_CHECKPOINTED) && !is_gone(work.pids[i]))
            return false;
    return true;
}

// One that runs may have a request to lock before it that it has not come to: a lock of our own, which is carried out
// behind that, leaves none.
static CUresult have_run(int pid)
{
    if (is_in(pid, CU_PROCESS_STATE_CHECKPOINTED)) {
        CUresult result = put_back_as_it_was(pid);
        if (result)
            return result;
    }
    if (is_in(pid, CU_PROCESS_STATE_RUNNING) && lock(pid) == CUDA_ERROR_NOT_READY)
        return CUDA_SUCCESS; // its work goes on, and nothing is locked
    return is_in(pid, CU_PROCESS_STATE_LOCKED) ? unlock(pid) : CUDA_SUCCESS;
}

static int settle(void)
{
    size_t failed = 0;

    work.timeout_ms = PROBE_MS;
    if (all_away())
        return say(LATER, "all are suspended", work.pids[0], CUDA_SUCCESS);
    CUresult result = each(work.count, have_run, &failed);
    return result ? say(LOST, "cannot be brought back", work.pids[failed], result)
                  : say(DONE, "", 0, CUDA_SUCCESS);
}

// ---- what is asked ----

static bool read_uuid(const char *text, CUuuid *uuid)
{
    unsigned count = 0, byte;

    for (text += strncmp(text, "GPU-", 4) ? 0 : 4; count < 16; text += 2) {
        text += *text == '-';
        if (sscanf(text, "%2x", &byte) != 1)
            return false;
        uuid->bytes[count++] = (char)byte;
    }
    return !*text;
}

static bool read_pairs(char *list)
{
    char *rest = list, *entry;

    if (!strcmp(list, "-"))
        return true;
    while ((entry = strsep(&rest, ","))) {
        char *to = strchr(entry, '=');
        if (!to || work.pair_count == PAIRS_MAX)
            return false;
        *to++ = '\0';
        CUcheckpointGpuPair *pair = &work.pairs[work.pair_count++];
        if (!read_uuid(entry, &pair->oldUuid) || !read_uuid(to, &pair->newUuid))
            return false;
    }
    return true;
}

static bool read_pids(int argc, char **argv)
{
    if (argc > WORKERS_MAX)
        return false;
    for (int i = 0; i < argc; i++) {
        char *end;
        long pid = strtol(argv[i], &end, 10);
        if (pid < 2 || pid > 0x7fffffff || *end)
            return false;
        work.pids[work.count++] = (int)pid;
    }
    return work.count != 0;
}

// The driver (580) lets no other user than 0 act on processes that are not dumpable, as workers are not; it asks for no
// capability. rgpud may change users and need not be that one. Where it may not, workers are its own user, and the driver
// says what it thinks of that.
static void become_root(void)
{
    if (geteuid() && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0))
        perror("rgpu-suspender: cannot become the user 0");
}

int main(int argc, char **argv)
{
    bool suspends = argc > 4 && !strcmp(argv[1], "suspend");
    bool resumes = argc > 4 && !strcmp(argv[1], "resume");
    bool settles = argc > 4 && !strcmp(argv[1], "settle");
    char *end = "";

    if (suspends)
        work.timeout_ms = (unsigned)strtoul(argv[2], &end, 10);
    if ((!suspends && !resumes && !settles) || *end || (resumes && !read_pairs(argv[2])) ||
        !read_pids(argc - 4, argv + 4)) {
        fputs(usage, stderr);
        return FAILED;
    }
    become_root();
    // After that, which forgets it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char *problem = checkpoint_load(argv[3]);
    if (problem) {
        printf("failed %s\n", problem);
        return FAILED;
    }
    return suspends ? suspend() : resumes ? resume() : settle();
}

// SPDX-License-Identifier: BSD-3-Clause
// Records what a driver answers to every call of the Driver API with each of its arguments wrong in
// each way that its type allows: one line `CALL CASE ANSWER` for each. An answer is the number of
// the result; `0+NUMBER` if the next synchronization fails because of the call; `crash` if the
// driver crashes; or `hang` if the call takes longer than --timeout. Calls are made in child
// processes; a child that crashes, or whose context has changed, is replaced by a new one. After
// --seconds the program prints the answers that it has. usage: record [--jobs N] [--seconds N]
// [--timeout N] [CALL...]
//        (default: 2 jobs, all calls, 30 seconds)
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/errors/arguments.h"
#include "tests/errors/fixture.h"

// When a case is tried: before cuInit, without a current context, or as a program does.
enum phase { BEFORE, WITHOUT, WITH, PHASES };

enum state { UNTRIED, STARTED, ANSWERED, NOT_THERE, CRASHED, HUNG };
enum { CASES_MAX = 1 << 16, OPENING = 60 };
static unsigned jobs = 2, seconds, timeout = 30;

static struct {
    struct {
        unsigned char state;
        int result, later; // of the call, and of the synchronization after it
    } cases[PHASES][CASES_MAX];
} * record;

struct one_case {
    const struct call *call;
    unsigned number; // in the phase
    int parameter;   // -1: all are right
    unsigned way;
};
typedef bool (*case_visitor)(void *argument, const struct one_case *one, const char *name);

static char **wanted;
static int wanted_count;

static bool is_wanted(const struct call *call)
{
    for (int i = 0; i < wanted_count; i++)
        if (!strcmp(wanted[i], call->name))
            return true;
    return !wanted_count;
}

// Shows every case of PHASE until VISIT says that it is enough.
static bool each_case(enum phase phase, case_visitor visit, void *argument)
{
    unsigned number = 0;
    for (unsigned c = 0; c < call_count; c++) {
        const struct call *call = &calls[c];
        if (!is_wanted(call))
            continue;
        struct one_case one = {call, number++, -1, 0};
        if (!visit(argument, &one,
                   phase == BEFORE    ? "before-init"
                   : phase == WITHOUT ? "no-context"
                                      : "right"))
            return false;
        for (one.parameter = 0; phase == WITH && one.parameter < (int)call->count;
             one.parameter++) {
            union argument arguments[PARAMETERS_MAX];
            const char *name;
            bool applies;
            for (one.way = 0;
                 arguments_wrong(call, one.parameter, one.way, arguments, &name, &applies);
                 one.way++) {
                char text[64];
                one.number = number++;
                snprintf(text, sizeof text, "%s=%s", call->parameters[one.parameter].name, name);
                if (!visit(argument, &one, text))
                    return false;
            }
        }
    }
    return true;
}

struct job {
    enum phase phase;
    unsigned index, count;
};

static bool is_mine(const struct job *job, const struct call *call)
{
    return (unsigned)(call - calls) % job->count == job->index;
}

// Calls after whose success an object of the fixture may be gone, or the thread's state another
// one.
static bool changes(const char *name)
{
    static const char *const words[] = {"Destroy",      "Unload",     "Free",       "Release",
                                        "Reset",        "Detach",     "Unregister", "Push",
                                        "Pop",          "SetCurrent", "Disable",    "Unmap",
                                        "CtxCreate",    "Attach",     "cuInit",     "SetLimit",
                                        "LinkComplete", "SetMemPool", "Capture",    "Checkpoint",
                                        "Coredump",     "Launch"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool still_right(enum phase phase, int *later)
{
    CUcontext current;
    if (phase == BEFORE)
        return DRIVER(cuCtxGetCurrent, &current) == CUDA_ERROR_NOT_INITIALIZED;
    if (phase == WITH)
        return fixture_intact(later);
    if (DRIVER(cuCtxGetCurrent, &current) || current)
        return false;
    DRIVER(cuCtxSetCurrent, (CUcontext)fixture_handle("CUcontext", "", GOOD));
    return fixture_intact(later) && DRIVER(cuCtxSetCurrent, NULL) == CUDA_SUCCESS;
}

static bool try_case(void *argument, const struct one_case *one, const char *name)
{
    struct job *job = argument;
    union argument arguments[PARAMETERS_MAX];
    typeof(&record->cases[0][0]) slot = &record->cases[job->phase][one->number];
    bool applies = true;
    if (!is_mine(job, one->call) || slot->state != UNTRIED)
        return true;
    arguments_right(one->call, arguments);
    if (one->parameter >= 0)
        arguments_wrong(one->call, one->parameter, one->way, arguments, &name, &applies);
    if (!applies || !fixture_has(one->call->name) ||
        (job->phase == BEFORE && !strcmp(one->call->name, "cuInit"))) {
        slot->state = NOT_THERE;
        return true;
    }
    alarm(timeout);
    slot->state = STARTED;
    slot->result = one->call->make(fixture_function(one->call->name), arguments);
    slot->state = ANSWERED;
    if (slot->result == CUDA_SUCCESS && changes(one->call->name))
        return false;
    return still_right(job->phase, &slot->later);
}

// One process with a driver of its own, until all of the job is tried or something is not as it
// was.
static void worker(struct job *job)
{
    fixture_library();
    if (job->phase != BEFORE) {
        alarm(OPENING + timeout);
        if (!fixture_make()) {
            fprintf(stderr, "record: no context\n");
            _exit(2);
        }
        if (job->phase == WITHOUT)
            DRIVER(cuCtxSetCurrent, NULL);
    }
    _exit(each_case(job->phase, try_case, job) ? 0 : 3);
}

struct death {
    struct job *job;
    enum state state;
};

static bool note_death(void *argument, const struct one_case *one, const char *name)
{
    struct death *death = argument;
    typeof(&record->cases[0][0]) slot = &record->cases[death->job->phase][one->number];
    if (is_mine(death->job, one->call) && slot->state == STARTED)
        slot->state = death->state;
    return true;
}

static void supervise(struct job *job)
{
    for (int status, none = 0;;) {
        pid_t pid = fork();
        if (pid == 0)
            worker(job);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            _exit(2);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2 && ++none == 5)
            _exit(2);
        struct death death = {job, CRASHED};
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            death.state = HUNG;
        each_case(job->phase, note_death, &death);
    }
}

static bool show(void *argument, const struct one_case *one, const char *name)
{
    enum phase phase = *(enum phase *)argument;
    typeof(&record->cases[0][0]) slot = &record->cases[phase][one->number];
    switch ((enum state)slot->state) {
    case UNTRIED: fprintf(stderr, "record: untried: %s %s\n", one->call->name, name); break;
    case NOT_THERE: break;
    case ANSWERED:
        printf("%s %s %d", one->call->name, name, slot->result);
        if (slot->later && !slot->result)
            printf("+%d", slot->later);
        printf("\n");
        break;
    case STARTED:
    case CRASHED: printf("%s %s crash\n", one->call->name, name); break;
    case HUNG: printf("%s %s hang\n", one->call->name, name); break;
    }
    return true;
}

static void time_is_up(int signal_number)
{
    kill(0, SIGTERM);
}

// Signals end the processes of this one and not itself.
static void lead(void)
{
    setpgid(0, 0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGALRM, time_is_up);
    alarm(seconds);
}

static void run_job(unsigned index)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    for (enum phase phase = BEFORE; phase < PHASES; phase++)
        supervise(&(struct job){phase, index, jobs});
    _exit(0);
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (; argc > 2 && !strncmp(argv[1], "--", 2); argv += 2, argc -= 2)
        *(!strcmp(argv[1], "--jobs")      ? &jobs
          : !strcmp(argv[1], "--seconds") ? &seconds
                                          : &timeout) = (unsigned)atoi(argv[2]);
    wanted = argv + 1, wanted_count = argc - 1;
    lead();
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED || !jobs)
        return 2;
    arguments_prepare();
    for (unsigned i = 0; i < jobs; i++) {
        if (fork() == 0)
            run_job(i);
    }
    for (int status; wait(&status) > 0 || errno == EINTR;)
        failed |= status;
    for (enum phase phase = BEFORE; phase < PHASES; phase++)
        each_case(phase, show, &phase);
    return failed ? 2 : 0;
}

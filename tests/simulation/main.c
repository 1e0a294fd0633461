// SPDX-License-Identifier: BSD-3-Clause
// Runs seeds of the simulated pool.
//   simulate [--seed N | --seeds A-B] [--minutes M] ... [--verbose]
// --seconds N limits the real time, --campaign demands all things of rare.h, and --minimize leaves
// out the faults without which the seed still breaks. --exhaust N tries each operation of each kind
// of message at its first, N-th, N*N-th ... occurrence.
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/simulation/box_disk.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/minimize.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/probe.h"
#include "tests/simulation/rare.h"
#include "tests/simulation/readers.h"
#include "tests/simulation/replicas.h"
#include "tests/simulation/stepped_log.h"
#include "tests/simulation/users.h"
#include "tests/simulation/virtual_disk.h"

struct options {
    uint64_t first, last;
    int64_t minutes;
    double seconds; // of real time after which no further seed begins; 0: no limit
    unsigned boxes, users;
    unsigned exhaust, step; // see exhaustive.h; 0: no such trials
    bool verbose, calm, dense, stop, campaign, minimize;
    bool quiet; // for the minimizer
    struct fault_filter without;
};

static double real_seconds(void)
{
    struct timespec now;

    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void enter(struct host *host, world_event *function, void *argument)
{
    world_host = host;
    if (host == &broker_host)
        broker_process_call(function, argument);
    else if (box_with_host(host))
        box_process_call(box_with_host(host), function, argument);
    else
        function(argument);
    world_host = NULL;
}

static void run_for(int64_t duration)
{
    world_run(world_now + duration, enter, oracle_check);
}

// No more faults: everybody gets what is still wanted, gives it back, and the pool is as at first.
static void end_world(void)
{
    exhaustive_finish();
    faults_heal();
    users_finish();
    operator_finish();
    readers_finish();
    run_for(MINUTE);
    operator_undrain_all();
    for (int i = 0; users_busy(false) && i < 3600; i++)
        run_for(SECOND);
    if (users_busy(false))
        world_broken("%d users do not get rid of their leases", users_busy(false));
    run_for(2 * MINUTE);
    oracle_check_served();
    users_give_up();
    for (int i = 0; users_busy(true) && i < 600; i++)
        run_for(SECOND);
    for (int i = 0; broker_restores && i < 2; i++) {
        operator_release_left();
        run_for(MINUTE);
    }
    // Leases whose users are gone run out, by a clock that may have been set meanwhile.
    for (int i = 0; i < 30 && oracle_leases_run_out(); i++)
        run_for(5 * MINUTE);
    run_for(2 * MINUTE); // the longest that a box takes to confirm an end
    oracle_check_idle();
    probe_begin();
    run_for(2 * MINUTE);
    probe_check();
    oracle_check_idle();
}

// The world in which one seed lives. Nothing is left of it afterwards, for it is a process.
static void live(const struct options *options, uint64_t seed)
{
    struct dice dice = dice_of(seed, "size");
    unsigned box_number = options->boxes ? options->boxes : (unsigned)dice_between(&dice, 5, 50);
    unsigned users = options->users ? options->users : (unsigned)dice_between(&dice, 5, 100);

    world_seed = seed;
    world_verbose = options->verbose;
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_set_level(options->verbose ? LOG_LEVEL_INFO : LOG_LEVEL_OFF);
    log_set_fd(STDOUT_FILENO);
    json_object_seed(1);
    box_disk_open();
    if (options->exhaust)
        exhaustive_begin(options->exhaust, options->step);
    disk_open(seed);
    stepped_log_set_up(seed);
    replicas_set_up(seed);
    broker_process_set_up(seed);
    world_after(NULL, 0, broker_process_start, NULL);
    boxes_set_up(seed, box_number);
    users_set_up(seed, users);
    operator_set_up(seed);
    readers_set_up(seed);
    if (!options->calm)
        faults_set_up(seed, options->minutes, options->dense, &options->without);
    while (world_now < exhaustive_end(options->minutes * MINUTE))
        run_for(SECOND);
    end_world();
    if (exhaustive_is_trial())
        return;
    box_disk_close();
    printf("seed=%llu boxes=%u users=%u minutes=%.1f events=%llu leases=%llu sessions=%llu "
           "starts=%u faults=%llu kinds=%d\n",
           (unsigned long long)seed, box_number, users, (double)world_now / MINUTE,
           (unsigned long long)world_events, (unsigned long long)users_leases,
           (unsigned long long)users_sessions, broker_starts, (unsigned long long)faults_struck,
           faults_kinds_struck());
    fflush(stdout);
}

// Sums over all seeds, in memory that their processes share.
static struct totals {
    int64_t virtual_ns;
    uint64_t events, leases, sessions, starts, faults;
} * totals;

static void add_totals(void)
{
    totals->virtual_ns += world_now;
    totals->events += world_events;
    totals->leases += users_leases;
    totals->sessions += users_sessions;
    totals->starts += broker_starts;
    totals->faults += faults_struck;
}

// Writes what gcov has counted, in a program that is built for it.
__attribute__((weak)) void __gcov_dump(void);

static _Noreturn void end_process(int status)
{
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

static bool run_seed(const struct options *options, uint64_t seed)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (options->quiet && !freopen("/dev/null", "w", stdout))
            _exit(1);
        live(options, seed);
        add_totals();
        end_process(options->exhaust && !exhaustive_is_trial() && !exhaustive_report());
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return false;
    if (WIFSIGNALED(status) && !options->quiet)
        printf("BROKEN seed=%llu: ended by signal %d\n", (unsigned long long)seed,
               WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool breaks(void *argument, const struct fault_filter *without)
{
    struct options options = *(const struct options *)argument;

    options.without = *without;
    options.quiet = true;
    return !run_seed(&options, options.first);
}

static const struct {
    const char *name;
    size_t member;
} flags[] = {
    {"--verbose", offsetof(struct options, verbose)},
    {"--calm", offsetof(struct options, calm)},
    {"--dense", offsetof(struct options, dense)},
    {"--stop", offsetof(struct options, stop)},
    {"--campaign", offsetof(struct options, campaign)},
    {"--minimize", offsetof(struct options, minimize)},
};

static bool read_flag(const char *name, struct options *options)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (!strcmp(name, flags[i].name)) {
            *(bool *)((char *)options + flags[i].member) = true;
            return true;
        }
    return false;
}

static bool read_value(const char *name, const char *value, struct options *options)
{
    char *end;
    uint64_t number = strtoull(value, &end, 10);

    if (!strcmp(name, "--without"))
        return minimize_read(value, &options->without);
    if (!strcmp(name, "--seed"))
        options->first = options->last = number;
    else if (!strcmp(name, "--seeds")) {
        options->first = number;
        options->last = *end == '-' ? strtoull(end + 1, &end, 10) : number;
    } else if (!strcmp(name, "--minutes"))
        options->minutes = (int64_t)number;
    else if (!strcmp(name, "--seconds"))
        options->seconds = (double)number;
    else if (!strcmp(name, "--boxes"))
        options->boxes = (unsigned)number;
    else if (!strcmp(name, "--users"))
        options->users = (unsigned)number;
    else if (!strcmp(name, "--exhaust"))
        options->exhaust = (unsigned)number;
    else if (!strcmp(name, "--step"))
        options->step = (unsigned)number;
    else
        return false;
    return *value && !*end;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++)
        if (!read_flag(argv[i], options) &&
            (i + 1 == argc || !read_value(argv[i], argv[i + 1], options) || !++i))
            return false;
    return true;
}

static int campaign(const struct options *options)
{
    double began = real_seconds();
    uint64_t seed = options->first;
    unsigned broken = 0;
    struct rusage used;
    bool all = true;

    for (; seed <= options->last && !(broken && options->stop) &&
           (!options->seconds || real_seconds() - began < options->seconds);
         seed++)
        broken += !run_seed(options, seed);
    getrusage(RUSAGE_CHILDREN, &used);
    double busy = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                  (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    if (options->campaign)
        all = rare_report();
    printf("seeds=%llu broken=%u virtual_hours=%.2f processor_seconds=%.1f times_real_time=%.0f "
           "events=%llu faults=%llu leases=%llu sessions=%llu broker_starts=%llu\n",
           (unsigned long long)(seed - options->first), broken,
           (double)totals->virtual_ns / (60 * MINUTE), busy,
           (double)totals->virtual_ns / SECOND / busy, (unsigned long long)totals->events,
           (unsigned long long)totals->faults, (unsigned long long)totals->leases,
           (unsigned long long)totals->sessions, (unsigned long long)totals->starts);
    return broken > 0 || !all;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .last = 1, .minutes = 30};

    if (!read_options(argc, argv, &options)) {
        fputs(
            "usage: simulate [--seed N | --seeds A-B] [--minutes M] [--seconds S] [--boxes N] "
            "[--users N] [--exhaust SPACING] [--step N] [--without KIND|NUMBER|A-B]... [--calm] [--dense] [--stop] [--campaign] "
            "[--minimize] [--verbose]\n",
            stderr);
        return 2;
    }
    rare_open();
    totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (totals == MAP_FAILED)
        return 1;
    if (!options.minimize)
        return campaign(&options);
    if (!breaks(&options, &options.without)) {
        printf("seed %llu does not break\n", (unsigned long long)options.first);
        return 1;
    }
    minimize(&options.without, breaks, &options);
    printf("make simulate SEED=%llu ARGS=\"--minutes %lld", (unsigned long long)options.first,
           (long long)options.minutes);
    if (options.boxes)
        printf(" --boxes %u", options.boxes);
    if (options.users)
        printf(" --users %u", options.users);
    if (options.dense)
        printf(" --dense");
    minimize_print(&options.without);
    puts("\"");
    return 0;
}

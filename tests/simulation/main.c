// SPDX-License-Identifier: BSD-3-Clause
// Runs seeds of the simulated pool.
//   simulate [--seed N | --seeds A-B] [--minutes M] [--boxes N] [--users N] [--calm] [--stop] [--verbose]
#include <jansson.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/simulation/box_disk.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/probe.h"
#include "tests/simulation/stepped_log.h"
#include "tests/simulation/users.h"
#include "tests/simulation/virtual_disk.h"

struct options {
    uint64_t first, last;
    int64_t minutes;
    unsigned boxes, users;
    bool verbose, calm, stop;
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
    faults_heal();
    users_finish();
    operator_finish();
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
    disk_open(seed);
    stepped_log_set_up(seed);
    broker_process_set_up(seed);
    world_after(NULL, 0, broker_process_start, NULL);
    boxes_set_up(seed, box_number);
    users_set_up(seed, users);
    operator_set_up(seed);
    if (!options->calm)
        faults_set_up(seed, options->minutes, &options->without);
    world_run(options->minutes * MINUTE, enter, oracle_check);
    end_world();
    box_disk_close();
    printf("seed=%llu boxes=%u users=%u minutes=%.1f events=%llu leases=%llu sessions=%llu "
           "starts=%u\n",
           (unsigned long long)seed, box_number, users, (double)world_now / MINUTE,
           (unsigned long long)world_events, (unsigned long long)users_leases,
           (unsigned long long)users_sessions, broker_starts);
    fflush(stdout);
}

static bool run_seed(const struct options *options, uint64_t seed)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        live(options, seed);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return false;
    if (WIFSIGNALED(status))
        printf("BROKEN seed=%llu: ended by signal %d\n", (unsigned long long)seed,
               WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        char *end;

        bool *flag = !strcmp(name, "--verbose") ? &options->verbose
                     : !strcmp(name, "--calm")  ? &options->calm
                     : !strcmp(name, "--stop")  ? &options->stop
                                                : NULL;
        if (flag) {
            *flag = true;
            continue;
        }
        i++;
        if (!strcmp(name, "--seed"))
            options->first = options->last = strtoull(value, &end, 10);
        else if (!strcmp(name, "--seeds")) {
            options->first = strtoull(value, &end, 10);
            options->last = *end == '-' ? strtoull(end + 1, &end, 10) : options->first;
        } else if (!strcmp(name, "--minutes"))
            options->minutes = strtoll(value, &end, 10);
        else if (!strcmp(name, "--boxes"))
            options->boxes = (unsigned)strtoul(value, &end, 10);
        else if (!strcmp(name, "--users"))
            options->users = (unsigned)strtoul(value, &end, 10);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .last = 1, .minutes = 30};
    double began = real_seconds();
    unsigned broken = 0;

    if (!read_options(argc, argv, &options)) {
        fputs("usage: simulate [--seed N | --seeds A-B] [--minutes M] [--boxes N] [--users N] "
              "[--verbose]\n",
              stderr);
        return 2;
    }
    for (uint64_t seed = options.first; seed <= options.last && !(broken && options.stop); seed++)
        broken += !run_seed(&options, seed);
    printf("%llu seeds in %.1f s, %u broken\n",
           (unsigned long long)(options.last - options.first + 1), real_seconds() - began, broken);
    return broken > 0;
}

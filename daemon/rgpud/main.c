// SPDX-License-Identifier: BSD-3-Clause
// rgpud: daemon of a GPU box. It accepts and authenticates clients, and passes each to a worker
// process of its own. rgpud itself neither loads CUDA nor handles data of clients.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/fault.h"
#include "common/net/fdpass.h"
#include "common/service/helper.h"
#include "common/base/log.h"
#include "common/service/loop_stall.h"
#include "common/service/program.h"
#include "common/base/program_path.h"
#include "common/net/json_memory.h"
#include "common/security/tls.h"
#include "daemon/rgpud/admin.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/clients/arrival.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/workers/client_sockets.h"
#include "daemon/rgpud/box/client.h"
#include "daemon/rgpud/gpus/comparison.h"
#include "daemon/rgpud/box/confinement.h"
#include "daemon/rgpud/box/askers.h"
#include "daemon/rgpud/exporter.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/gpus/network_shares.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/box/instances.h"
#include "daemon/rgpud/lifecycle.h"
#include "daemon/rgpud/box/limits.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/clients/figures_query.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/notify.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/suspension/lease_places.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/start_check.h"
#include "daemon/rgpud/takeover.h"
#include "daemon/rgpud/vm/vm_windows.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/supervision/worker_life.h"
#include "daemon/rgpud/workers/worker_setup.h"

struct start_options {
    const char *config, *spawner;
    bool standalone, check;
    int argc; // arguments for the settings table
    char **argv;
};

struct program {
    struct start_options options;
    struct box box;
    struct event *signals[5];
};

static const struct program_about about = {
    .name = "rgpud",
    .protocol = CONTROL_VERSION,
    .usage =
        "usage: rgpud --config FILE [options]\n"
        "       rgpud --standalone --devices sim:2 --listen 127.0.0.1:0\n\n"
        "Offers the GPUs of this machine to clients elsewhere.\n\n"
        "  --config FILE                  read the settings from this file\n"
        "  --standalone                   no authentication, no admin socket unless asked for,\n"
        "                                 and an exit where workers do not start\n"
        "  --spawner SOCKET               use the rgpu-spawner that listens there; without it one\n"
        "                                 is started, with the same rights\n"
        "  --check-config                 say all that is wrong with the settings, and end;\n"
        "                                 status 1 where something is\n"
        "  --print-config                 print a sample file with every setting\n"
        "  --help, --version\n\n"
        "Every setting of the file can be given here as well:\n",
    .settings = settings_table,
    .settings_are_options = true,
};

// Takes this program's own options out and leaves those of the settings table.
static int take_options(int argc, char **argv, struct start_options *options)
{
    options->config = program_take_value(&argc, argv, "--config");
    options->spawner = program_take_value(&argc, argv, "--spawner");
    options->standalone = program_take_flag(&argc, argv, "--standalone");
    options->check = program_take_flag(&argc, argv, "--check-config");
    options->argc = argc;
    options->argv = argv;
    if (options->config || options->standalone)
        return 0;
    log_error("either --config FILE or --standalone is needed; see --help");
    return -EINVAL;
}

// ---- paths ----

static void choose_monitor(const struct box *box, char *program, char *library, size_t size)
{
    static const char *const programs[] = {"rgpu-monitor", "../libexec/rgpu/rgpu-monitor", NULL};
    static const char *const simulators[] = {"../lib/rgpu/libnvidia-ml-sim.so",
                                             "../lib/libnvidia-ml-sim.so", NULL};
    const struct box_settings *settings = &box->settings;

    program_path_find(programs, program, size);
    if (settings->management_library)
        snprintf(library, size, "%s", settings->management_library);
    else if (box->choice.software)
        program_path_find(simulators, library, size);
    else
        snprintf(library, size, "libnvidia-ml.so.1");
}

static int choose_environment(struct box *box)
{
    // Workers of one box share its software GPUs through this memory; other drivers ignore it.
    // Boxes with the same file share it, since boxes of one host may access each other's GPUs.
    const char *file = getenv("RGPU_SIM_STATE");
    box->driver_fd = file && *file == '/' ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
                                          : memfd_create("rgpu-sim", MFD_CLOEXEC);
    if (box->driver_fd < 0)
        return -errno;
    return programs_environment(box->name, box->choice.software, box->choice.count);
}

// ---- figures of the GPU monitor ----

static struct instances instances;

static void took_figures(void *argument, const struct monitor_round *round)
{
    struct box *box = argument;

    figures_take(box, round);
    figures_query_resume(box);
    if (round && round->is_glance)
        return;
    if (round) {
        comparison_take(box, round);
        health_take(box, round);
    }
    if (!box->awaits_monitor)
        return;
    box->awaits_monitor = false;
    instances_take(box->instances, round);
    if (instances_are_all(box->instances, &box->choice) && box_adopt_inventory(box, NULL)) {
        box->exit_status = 1;
        event_base_loopbreak(box->base);
    }
    box_changed(box);
}

static int open_monitor(struct box *box)
{
    static char program[4096], library[4096];
    struct monitor_settings settings = {.program = program,
                                        .library = library,
                                        .driver_fd = box->driver_fd,
                                        .interval = box->settings.memory_check};

    if (!settings.interval)
        return 0;
    choose_monitor(box, program, library, sizeof(program));
    box->awaits_monitor = true;
    box->monitor = monitor_open(box->base, &settings, took_figures, box);
    return box->monitor ? 0 : -ENOMEM;
}

// ---- signals ----

static void child_ended(evutil_socket_t signal, short events, void *argument)
{
    struct box *box = argument;

    monitor_reap(box->monitor);
}

static void asked_to_stop(evutil_socket_t signal, short events, void *argument)
{
    struct box *box = argument;

    if (box->state == BOX_LEAVING || box->state == BOX_STOPPING)
        lifecycle_move(box, BOX_STOPPING);
    else
        lifecycle_move(box, BOX_LEAVING);
    box_changed(box);
}

// The spawner keeps the sessions for the next rgpud.
static void asked_to_hand_over(evutil_socket_t signal, short events, void *argument)
{
    struct box *box = argument;

    if (!spawner_outlives(box)) {
        log_warn("signal USR1 has no effect: rgpu-spawner ends with this rgpud (--spawner)");
        return;
    }
    log_info("sessions are left to the next rgpud sessions=%u", box->session_count);
    box->hands_over = true;
    event_base_loopbreak(box->base);
}

static void apply_log_level(const struct box_settings *settings)
{
    log_set_level((enum log_level)settings->log_level);
    log_level_from_environment();
}

static void rgpud_take_over(struct box_settings *current, struct box_settings *fresh)
{
    config_report_restart_needed(settings_table, current, fresh);
    config_take_reloadable(settings_table, current, fresh);
    apply_log_level(current);
}

static void asked_to_reload(evutil_socket_t signal, short events, void *argument)
{
    struct program *program = argument;
    struct box *box = &program->box;
    struct box_settings fresh;

    notify_reloading();
    if (settings_read(program->options.argc, program->options.argv, program->options.config,
                      program->options.standalone, &fresh) ||
        health_settings_check(&fresh) || admission_load_keys(box, &fresh)) {
        log_error("reload failed, the old settings stay");
        config_clear(settings_table, &fresh);
    } else {
        rgpud_take_over(&box->settings, &fresh);
        config_clear(settings_table, &fresh);
        box->description++;
        log_info("settings reloaded config=%s",
                 program->options.config ? program->options.config : "none");
    }
    notify_state(box);
    box_changed(box);
}

static int watch_signals(struct program *program)
{
    struct box *box = &program->box;
    struct event **signals = program->signals;

    signals[0] = evsignal_new(box->base, SIGCHLD, child_ended, box);
    signals[1] = evsignal_new(box->base, SIGTERM, asked_to_stop, box);
    signals[2] = evsignal_new(box->base, SIGINT, asked_to_stop, box);
    signals[3] = evsignal_new(box->base, SIGHUP, asked_to_reload, program);
    signals[4] = evsignal_new(box->base, SIGUSR1, asked_to_hand_over, box);
    for (int i = 0; i < 5; i++)
        if (!signals[i] || event_add(signals[i], NULL))
            return -ENOMEM;
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

// ---- start and end ----

static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void review(evutil_socket_t fd, short events, void *argument)
{
    lifecycle_review(argument);
}

// Creates the event loop. The review has the higher priority, so it runs before any other event.
static int make_loop(struct box *box)
{
    box->base = event_base_new();
    if (!box->base || event_base_priority_init(box->base, 2))
        return -ENOMEM;
    box->changed = event_new(box->base, -1, 0, review, box);
    return box->changed ? event_priority_set(box->changed, 0) : -ENOMEM;
}

// Workers of an earlier rgpud and new ones share their software GPUs.
static int share_driver(struct box *box)
{
    struct spawner_kept *kept = spawner_take_stored(box, SPAWNER_STORE_DRIVER);
    int err = 0;

    if (!kept)
        spawner_store(box, SPAWNER_STORE_DRIVER, &box->driver_fd, 1);
    else if (dup3(kept->stored[0], box->driver_fd, O_CLOEXEC) < 0)
        err = -errno;
    if (kept)
        spawner_kept_free(&kept);
    return err;
}

static int open_spawner(struct program *program)
{
    const struct start_options *options = &program->options;
    int err = spawner_open(&program->box, options->spawner, options->argc, options->argv,
                           options->config);

    return err ? err : share_driver(&program->box);
}

static int rgpud_set_up(struct program *program)
{
    struct box *box = &program->box;
    int err;

    box->instances = &instances;
    TAILQ_INIT(&box->workers);
    TAILQ_INIT(&box->clients);
    TAILQ_INIT(&box->accounts);
    TAILQ_INIT(&box->exports);
    TAILQ_INIT(&box->gpu_times);
    TAILQ_INIT(&box->suspensions);
    TAILQ_INIT(&box->windows);
    TAILQ_INIT(&box->tenants);
    TAILQ_INIT(&box->quota_requests);
    box->next_session = 1;
    box->standalone = program->options.standalone;
    err = make_loop(box);
    if (err)
        return err;
    control_boot_id(box->boot_id);
    raise_descriptor_limit();
    box->limits = limits_new(&box->settings);
    if (!box->limits)
        return -ENOMEM;
    if (box->keys.count && (err = tls_prepare_server())) {
        log_error("OpenSSL cannot be used");
        return err;
    }
    err = confinement_set_up(box);
    if (!err)
        err = choose_environment(box);
    if (!err)
        err = open_spawner(program);
    if (err)
        return err;
    confinement_report(box);
    err = watch_signals(program);
    if (!err)
        client_sockets_open(box);
    if (!err)
        err = listeners_open(box, arrival_accept);
    // Connections that continue a session come before it is known.
    if (!err && !TAILQ_EMPTY(spawner_list_kept(box)))
        listeners_hold(box, true);
    if (!err)
        err = admin_open(box);
    if (!err)
        err = exporter_open(box, &box->exporter);
    if (!err)
        err = places_open(box);
    if (!err)
        err = broker_agent_open(box);
    if (!err)
        err = open_monitor(box);
    if (!err)
        err = network_shares_open(box);
    return err ? err : suspension_open(box);
}

// Ends without touching what the spawner keeps. Files are written to their end.
__attribute__((noreturn)) static void leave_to_next(struct box *box)
{
    admin_close(box);
    broker_agent_close(box);
    places_close(box);
    fflush(stdout);
    _exit(box->exit_status);
}

static void tear_down(struct program *program)
{
    struct box *box = &program->box;

    notify_stop_watchdog();
    if (box->hands_over)
        leave_to_next(box);
    takeover_abandon(box);
    admin_close(box);
    askers_close(&box->exporter);
    broker_agent_close(box);
    listeners_close(box);
    client_close_all(box);
    suspension_close_all(box);
    places_close(box);
    worker_kill_all(box);
    vm_windows_close_all(box);
    overcommit_close(box);
    mps_close(box);
    spawner_close(box);
    monitor_close(&box->monitor);
    if (box->glance_timeout)
        event_free(box->glance_timeout);
    for (uint32_t i = 0; i < box->device_count; i++)
        warm_pool_free(&box->devices[i].pool);
    warm_pool_free(&box->probe);
    network_shares_close(box);
    gpu_time_free(box);
    limits_free(&box->limits);
    free(box->devices);
    for (int i = 0; i < 5; i++)
        if (program->signals[i])
            event_free(program->signals[i]);
    if (box->changed)
        event_free(box->changed);
    if (box->base)
        event_base_free(box->base);
    config_clear(settings_table, &box->settings);
    if (box->driver_fd > 0)
        close(box->driver_fd);
    libevent_global_shutdown();
}

// Reads and checks the settings, and logs every error.
static int rgpud_configure(struct program *program)
{
    struct box *box = &program->box;
    const struct start_options *options = &program->options;
    int err = settings_read(options->argc, options->argv, options->config, options->standalone,
                            &box->settings);

    if (!err)
        apply_log_level(&box->settings);
    int more = start_check(box);
    if (!err && !more && options->check)
        printf("rgpud: the settings are in order%s%s\n", options->config ? ": " : "",
               options->config ? options->config : "");
    return err ? err : more;
}

int main(int argc, char **argv)
{
    static struct program program;
    struct box *box = &program.box;

    descriptor_keep_standard();
    fdpass_distrust(close_stranger);
    log_init("rgpud", LOG_LEVEL_INFO);
    json_memory_set_up();
    fault_init();
    int status;

    if (program_answer(&about, argc, argv))
        return program_finish(about.name, 0);
    if (take_options(argc, argv, &program.options))
        return 2;
    config_keep_places();
    if (program.options.check && program_become("rgpu", program.options.config))
        log_info("checked as user rgpu");
    int err = rgpud_configure(&program);
    if (err || program.options.check) {
        config_clear(settings_table, &box->settings);
        return !err ? 0 : program.options.check ? 1 : 2;
    }
    err = rgpud_set_up(&program);
    if (!err) {
        notify_state(box);
        notify_start_watchdog(box);
        box_changed(box);
        loop_stall_start();
        event_base_dispatch(box->base);
        status = box->exit_status;
        // After an error another rgpud is started.
        box->hands_over |= status && spawner_outlives(box);
        log_info("ends sessions_total=%llu", (unsigned long long)box->sessions_total);
    } else {
        status = box->exit_status = 2;
        box->hands_over = box->spawner && spawner_outlives(box);
    }
    tear_down(&program);
    return status;
}

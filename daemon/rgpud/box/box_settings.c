// SPDX-License-Identifier: BSD-3-Clause
// Table of rgpud's settings, and the order in which they are read. proto/control.spec declares
// those that workers get unchanged.
#include "daemon/rgpud/box/box_settings.h"

#include <errno.h>
#include <string.h>

#include "common/service/config_retired.h"
#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/copy_path.h"
#include "proto/wire.h"

static const char *const auth_methods[] = {"none", "ticket", NULL};
static const char *const exports_policies[] = {"lease", "user", NULL};
const char *const mps_share_words[] = {"lease", "user", "all", NULL};
static const char *const mps_fallbacks[] = {"refuse", "time", NULL};
static const char *const protections[] = {"authenticate", "privacy", NULL};
const char *const gpu_mode_words[] = {"exclusive", "shared", "auto", NULL};
static const char *const log_levels[] = {"off", "error", "warn", "info", "debug", "trace", NULL};

static const struct config_retired retired[] = {
#define PATHS_DECIDE \
    "copies from 64 KiB on go directly; paths = one-sided in section [box] forbids that"
    CONFIG_RETIRED("workers", "gpudirect_to_min", PATHS_DECIDE),
    CONFIG_RETIRED("workers", "gpudirect_to_max", PATHS_DECIDE),
    CONFIG_RETIRED("workers", "gpudirect_from_min", PATHS_DECIDE),
    CONFIG_RETIRED("workers", "gpudirect_from_max", PATHS_DECIDE),
#define KEY_PROVES "a box proves to the broker who it is by key_file in section [auth]"
    CONFIG_RETIRED("broker", "broker_key", KEY_PROVES),
    CONFIG_RETIRED("broker", "munge_socket", KEY_PROVES),
    CONFIG_RETIRED("workers", "worker_user", "each worker becomes a user of worker_uids"),
    CONFIG_RETIRED_END,
};

const struct config_option settings_table[] = {
    CONFIG_STRING("box", "name", struct box_settings, name, "",
                  "name of this box in tickets and messages; empty: the host name"),
    CONFIG_LIST("box", "listen", struct box_settings, listen, "127.0.0.1:7300",
                "addresses that clients connect to: host:port, [ipv6]:port or unix:/path"),
    CONFIG_STRING("box", "devices", struct box_settings, devices, "cuda:all",
                  "GPUs to offer: cuda:all, cuda:0,1 or sim:COUNT for software GPUs"),
    CONFIG_STRING("box", "driver", struct box_settings, driver, "",
                  "driver library that workers load; empty: libcuda.so.1, or the software GPU's"),
    CONFIG_STRING(
        "box", "cupti", struct box_settings, cupti, "",
        "CUPTI's library, by which profilers see kernels; empty: libcupti.so.13 or .12 in its usual places",
        .developer = true),
    CONFIG_STRING("box", "admin_socket", struct box_settings, admin_socket, "/run/rgpu/rgpud.sock",
                  "unix socket that rgpuctl asks; empty: none"),
    CONFIG_STRING("box", "metrics_listen", struct box_settings, metrics_listen, "",
                  "host:port of figures for Prometheus, without authentication; empty: none"),
    CONFIG_LIST("box", "transports", struct box_settings, transports, "all",
                "transports that sessions may use; all: all that rgpu-transports(7) names",
                .reloadable = true),
    CONFIG_STRING("box", "client_sockets", struct box_settings, client_sockets,
                  CONTROL_CLIENT_SOCKETS,
                  "directory of sockets by which containers of this host reach shm; empty: none"),
    CONFIG_BOOL(
        "box", "peer_links", struct box_settings, peer_links, "yes",
        "whether this box and others connect for copies between their GPUs, to the addresses and ports of clients",
        .reloadable = true),
    CONFIG_INT(
        "box", "tcp_connections", struct box_settings, tcp_connections, "4", 1, 8,
        "connections of a session over tcp that copies much, where its host has processors for them",
        .reloadable = true, .developer = true),
    CONFIG_SIZE(
        "box", "network_bandwidth", struct box_settings, network_bandwidth, "auto",
        "bytes per second of the network card, which leases over tcp share; auto: of all cards",
        .word = "auto", .developer = true),
    CONFIG_LIST("box", "rdma_addresses", struct box_settings, rdma_addresses, "",
                "addresses whose RDMA devices workers use in turn; empty: all there are"),
    CONFIG_LIST("box", "rdma_devices", struct box_settings, rdma_devices, "",
                "the same by name and port, such as mlx5_0:1, mlx5_1"),
    CONFIG_LIST(
        "box", "gpu_faults", struct box_settings, gpu_faults,
        "note:count, application:count, unknown:warn, reset:end, replace:drain",
        "what to do about faults of GPUs, by class or Xid: count, warn, drain the GPU, or end its sessions too",
        .reloadable = true),
    CONFIG_STRING("box", "paths", struct box_settings, paths, "auto",
                  "how copies travel: auto, or a list of " PATH_WORDS),
    CONFIG_STRING("box", "rdma_ports", struct box_settings, rdma_ports, "",
                  "port or range such as 7400-7499 that workers listen on over RDMA; empty: any"),
    CONTROL_RDMA_SETTINGS_ROWS(struct box_settings, rdma),
    CONFIG_ENUM("box", "log_level", struct box_settings, log_level, "info", log_levels,
                "least important log lines that are written", .reloadable = true),

    CONFIG_STRING("workers", "worker_program", struct box_settings, worker_program, "",
                  "program of the workers; empty: rgpu-worker beside rgpud or in ../libexec/rgpu",
                  .developer = true),
    CONFIG_STRING(
        "workers", "worker_uids", struct box_settings, worker_uids, "2000000000-2000000999",
        "users that workers become, each another one, if rgpu-spawner may do that; or none"),
    CONFIG_STRING(
        "workers", "nccl", struct box_settings, nccl, "",
        "NVIDIA's libnccl.so.2, by which workers of boxes reach each other; empty: none, and workers connect to nothing"),
    CONFIG_BOOL(
        "workers", "peer_gpus", struct box_settings, peer_gpus, "no",
        "workers open all GPUs of the host, so that copies between its boxes go from GPU to GPU"),
    CONTROL_WORKER_SETTINGS_ROWS(struct box_settings, worker),
    CONFIG_SIZE("workers", "total_worker_memory", struct box_settings, total_worker_memory, "auto",
                "memory of this machine for all workers together; auto: seven eighths of it",
                .word = "auto"),
    CONFIG_DURATION(
        "workers", "memory_check", struct box_settings, memory_check, "2s",
        "how often GPUs' figures are taken, and accounts of memory compared with them; 0: never",
        .zero = true, .developer = true),
    CONFIG_SIZE("workers", "memory_tolerance", struct box_settings, memory_tolerance, "512M",
                "difference that is not told: what drivers take beside what accounts count",
                .reloadable = true, .developer = true),
    CONFIG_STRING("workers", "management_library", struct box_settings, management_library, "",
                  "library that has these figures; empty: libnvidia-ml.so.1, or the software GPU's",
                  .developer = true),
    CONFIG_LIST("workers", "sharing", struct box_settings, sharing, "time",
                "how processes share a GPU: time, mps, or by its number, such as 0:mps, 1:time"),
    CONFIG_ENUM(
        "workers", "mps_share", struct box_settings, mps_share, "user", mps_share_words,
        "whose sessions may be on one GPU with sharing=mps at once, as a fault of one ends all"),
    CONFIG_ENUM("workers", "mps_fallback", struct box_settings, mps_fallback, "refuse",
                mps_fallbacks,
                "a GPU whose MPS daemon does not start: refuse its clients, or share it by time"),
    CONFIG_STRING(
        "workers", "mps_control", struct box_settings, mps_control, "",
        "control program of MPS; empty: nvidia-cuda-mps-control in its usual places, or the software GPU's",
        .developer = true),
    CONFIG_STRING("workers", "mps_directory", struct box_settings, mps_directory, "/run/rgpu-mps",
                  "directory for the pipes and logs of the GPUs' MPS daemons", .developer = true),
    CONFIG_DURATION("workers", "mps_check", struct box_settings, mps_check, "1s",
                    "how often it is looked how each MPS daemon is", .developer = true),
    CONFIG_DURATION("workers", "mps_timeout", struct box_settings, mps_timeout, "10s",
                    "an MPS daemon that does not answer for so long is ended and started again",
                    .developer = true),
    CONFIG_SIZE("workers", "suspend_memory", struct box_settings, suspend_memory, "auto",
                "memory of this machine for what suspended sessions had on GPUs; auto: half of it",
                .word = "auto", .reloadable = true),
    CONFIG_DURATION(
        "workers", "suspend_timeout", struct box_settings, suspend_timeout, "30s",
        "time that work on a GPU has to end before its session is suspended, or else is not",
        .reloadable = true, .developer = true),
    CONFIG_DURATION(
        "workers", "suspend_wait", struct box_settings, suspend_wait, "0",
        "a call that waits longer for a suspended session ends it; 0: it waits for ever",
        .reloadable = true, .zero = true),
    CONFIG_DURATION(
        "workers", "idle_suspend", struct box_settings, idle_suspend, "0",
        "a session that asked for nothing so long leaves the GPU until it does; 0: never",
        .reloadable = true, .zero = true),
    CONFIG_LIST(
        "workers", "overcommit", struct box_settings, overcommit, "1.0",
        "how many times a GPU's memory shares may be promised: 2.0, or by its number, such as 0:2.0"),
    CONFIG_DURATION(
        "workers", "overcommit_quantum", struct box_settings, overcommit_quantum, "10s",
        "time that a lease has there, at least, before it gives way to others that wait",
        .reloadable = true, .developer = true),
    CONFIG_INT("workers", "warm_workers", struct box_settings, warm_workers, "1", 0, 64,
               "workers kept ready per GPU, each with a context that takes GPU memory",
               .reloadable = true),
    CONFIG_INT("workers", "parallel_starts", struct box_settings, parallel_starts, "4", 1, 64,
               "workers of one GPU that start at once", .reloadable = true, .developer = true),
    CONFIG_DURATION("workers", "refill_timeout", struct box_settings, refill_timeout, "10s",
                    "how long warm workers are missing while starts would disturb sessions",
                    .reloadable = true, .zero = true, .developer = true),
    CONFIG_INT("workers", "busy_gpu", struct box_settings, busy_gpu, "50", 0, 101,
               "percent from which on a GPU is too busy for such starts; 101: never",
               .reloadable = true, .developer = true),
    CONFIG_INT("workers", "busy_processors", struct box_settings, busy_processors, "100", 0, 100000,
               "the same of the host's processors, by threads that want to run", .reloadable = true,
               .developer = true),
    CONFIG_DURATION("workers", "worker_start_timeout", struct box_settings, worker_start_timeout,
                    "60s", "a worker that is not ready after this time is ended",
                    .reloadable = true, .developer = true),
    CONFIG_DURATION("workers", "worker_stop_grace", struct box_settings, worker_stop_grace, "2s",
                    "time between asking a worker to end and killing it", .reloadable = true,
                    .zero = true, .developer = true),
    CONFIG_DURATION("workers", "worker_backoff_max", struct box_settings, worker_backoff_max, "30s",
                    "longest pause between starts of workers that keep failing", .reloadable = true,
                    .developer = true),

    CONFIG_DURATION("clients", "handshake_timeout", struct box_settings, handshake_timeout, "5s",
                    "a client that is not authenticated after this time is refused",
                    .reloadable = true, .developer = true),
    CONFIG_INT("clients", "max_handshakes", struct box_settings, max_handshakes, "512", 1, 65536,
               "connections in the handshake at once; one more, and the oldest is closed",
               .reloadable = true, .developer = true),
    CONFIG_INT("clients", "max_handshakes_per_address", struct box_settings,
               max_handshakes_per_address, "256", 1, 65536,
               "those of one address (of one user over a unix socket, of one /64 over IPv6)",
               .reloadable = true, .developer = true),
    CONFIG_INT("clients", "max_queued", struct box_settings, max_queued, "2048", 1, 65536,
               "clients that may wait for a worker at once, half of them of one lease",
               .reloadable = true, .developer = true),
    CONFIG_INT("clients", "max_sessions", struct box_settings, max_sessions, "0", 0, 65536,
               "sessions at once, 0 for no limit; further clients wait", .reloadable = true),
    CONFIG_INT("clients", "max_sessions_per_gpu", struct box_settings, max_sessions_per_gpu, "256",
               0, 65536, "those that use one GPU, 0 for no limit; further clients wait",
               .reloadable = true),
    CONFIG_INT("clients", "max_sessions_per_lease", struct box_settings, max_sessions_per_lease,
               "256", 0, 65536, "those of one lease, 0 for no limit; further clients are refused",
               .reloadable = true),

    CONFIG_SIZE("clients", "max_images_per_lease", struct box_settings, max_images_per_lease, "16G",
                "code that the sessions of one lease have loading at once; more is out of memory",
                .min = 64 << 20, .reloadable = true, .developer = true),
    CONFIG_ENUM("clients", "exports", struct box_settings, exports, "lease", exports_policies,
                "whose processes may open memory that one shares: of its lease, or of its user",
                .reloadable = true),
    CONFIG_ENUM("auth", "auth", struct box_settings, auth, "ticket", auth_methods,
                "what a client must show", .reloadable = true),
    CONFIG_ENUM("auth", "protection", struct box_settings, protection, "authenticate", protections,
                "the least that sessions with a ticket get; privacy: TCP data are encrypted too",
                .reloadable = true),
    CONFIG_STRING("auth", "key_file", struct box_settings, key_file, "/etc/rgpu/box.key",
                  "keys of this box, for tickets and towards the broker; private to rgpud's user",
                  .reloadable = true),
    CONFIG_DURATION("auth", "clock_skew", struct box_settings, clock_skew, "60s",
                    "tolerated difference between this clock and the broker's", .reloadable = true,
                    .zero = true, .developer = true),
    CONFIG_DURATION("auth", "max_ticket_lifetime", struct box_settings, max_ticket_lifetime,
                    "8784h", "tickets that are valid for longer are refused", .reloadable = true,
                    .developer = true),

    CONFIG_LIST(
        "broker", "broker", struct box_settings, broker, "",
        "host:port of the broker whose pool this box belongs to, and of its standby; empty: none"),
    CONFIG_LIST("broker", "announce", struct box_settings, announce, "",
                "addresses that clients are told to use; empty: those of listen"),
    CONFIG_STRING(
        "broker", "locality", struct box_settings, locality, "",
        "where the box is, which requests may ask for: a rack or a switch, or hall3.rack1"),
    CONFIG_ENUM("broker", "gpu_mode", struct box_settings, gpu_mode, "exclusive", gpu_mode_words,
                "mode of a GPU when the broker first hears of it; rgpuctl mode changes it"),
    CONFIG_STRING(
        "broker", "state_dir", struct box_settings, state_dir, "/var/lib/rgpu",
        "directory of what outlives rgpud: the lists of leases that have ended and that were moved"),
    CONFIG_END_RETIRED(retired),
};

static int set_standalone(struct box_settings *settings)
{
    int err = config_set(settings_table, "auth", "auth", "none", "--standalone", settings);

    if (!err)
        err = config_set(settings_table, "box", "admin_socket", "", "--standalone", settings);
    if (!err)
        err = config_set(settings_table, "box", "client_sockets", "", "--standalone", settings);
    return err;
}

static int read_command_line(int argc, char *const *argv, struct box_settings *settings)
{
    char *copy[256];

    if (argc > 255) {
        log_error("command line: too many arguments");
        return -EINVAL;
    }
    memcpy(copy, argv, sizeof(copy[0]) * ((size_t)argc + 1));
    int err = config_command_line(settings_table, &argc, copy, settings);
    if (!err && argc > 1) {
        log_error("command line: unknown argument %s; see --help", copy[1]);
        err = -EINVAL;
    }
    return err;
}

// Checks that a byte stream has at least one block of the protocol's size in each direction.
static int check_blocks(const struct box_settings *settings)
{
    const struct control_worker_settings *worker = &settings->worker;
    uint64_t size = worker->block_size ? worker->block_size : WIRE_BLOCK_SIZE;

    if (size * (uint64_t)worker->block_count >= 2 * WIRE_BLOCK_SIZE)
        return 0;
    config_complain(settings_table, "workers", "block_count",
                    "block_size=%lluK times block_count=%lld is less than the %dK that a worker "
                    "needs",
                    (unsigned long long)size / 1024, (long long)worker->block_count,
                    2 * WIRE_BLOCK_SIZE / 1024);
    return -EINVAL;
}

static int box_settings_check_protection(const struct box_settings *settings)
{
    if (!settings->protection || settings->auth == AUTH_TICKET)
        return 0;
    config_complain(settings_table, "auth", "protection",
                    "protection=privacy needs auth=ticket: without tickets there is no secret to "
                    "encrypt with");
    return -EINVAL;
}

int settings_read(int argc, char *const *argv, const char *path, bool standalone,
                  struct box_settings *settings)
{
    memset(settings, 0, sizeof(*settings));
    int err = config_defaults(settings_table, settings);
    if (!err && standalone)
        err = set_standalone(settings);
    if (err)
        return err;
    // Each step runs even if an earlier one failed, so that one run reports all errors.
    int parts[] = {path ? config_load(settings_table, path, settings) : 0,
                   read_command_line(argc, argv, settings), check_blocks(settings),
                   box_settings_check_protection(settings)};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !err; i++)
        err = parts[i];
    return err;
}

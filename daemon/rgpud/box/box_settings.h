// SPDX-License-Identifier: BSD-3-Clause
// Settings of rgpud. One table declares them; file and command line set them. All durations are in
// microseconds.
#ifndef RGPU_DAEMON_BOX_SETTINGS_H
#define RGPU_DAEMON_BOX_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/service/config.h"
#include "control_messages.h"

enum auth_method { AUTH_NONE, AUTH_TICKET }; // admit every client, or only clients with a ticket

// Processes that may share memory: those of one lease, or of one user.
enum exports_policy { EXPORTS_LEASE, EXPORTS_USER };

enum mps_share {
    MPS_SHARE_LEASE,
    MPS_SHARE_USER,
    MPS_SHARE_ALL
}; // Clients that may share an MPS server.
// Use of a GPU whose MPS daemon does not start: none, or time slices.
enum mps_fallback { MPS_FALLBACK_REFUSE, MPS_FALLBACK_TIME };

struct box_settings {
    char *name;
    char **listen;
    char *devices;
    char *driver;
    char *cupti;
    char *nccl;
    char *worker_program;
    char *admin_socket;
    char *metrics_listen;
    char *client_sockets;
    char **transports;
    bool peer_links;
    bool peer_gpus;
    char **rdma_addresses;
    char **rdma_devices;
    char *rdma_ports;
    int64_t tcp_connections;
    uint64_t network_bandwidth;        // bytes per second; 0: as the kernel reports
    struct control_rdma_settings rdma; // RDMA settings that workers get
    char *worker_uids;
    struct control_worker_settings worker;
    uint64_t total_worker_memory; // bytes; 0: seven eighths of the machine's memory
    uint64_t memory_check;        // interval; 0: never
    uint64_t memory_tolerance;
    char *management_library;
    char **gpu_faults;
    char **sharing;
    int mps_share;    // enum mps_share
    int mps_fallback; // enum mps_fallback
    char *mps_control;
    char *mps_directory;
    uint64_t mps_check;
    uint64_t mps_timeout;
    uint64_t suspend_memory; // bytes; 0: half of the machine's memory
    uint64_t suspend_timeout;
    uint64_t suspend_wait; // 0: no limit
    uint64_t idle_suspend; // 0: never
    char **overcommit;
    uint64_t overcommit_quantum;
    int64_t warm_workers;
    int64_t parallel_starts;
    uint64_t refill_timeout;
    int64_t busy_gpu;
    int64_t busy_processors;
    uint64_t worker_start_timeout;
    uint64_t worker_stop_grace;
    uint64_t worker_backoff_max;
    uint64_t handshake_timeout;
    int64_t max_handshakes;
    int64_t max_handshakes_per_address;
    int64_t max_queued;
    int64_t max_sessions;
    int64_t max_sessions_per_gpu;
    int64_t max_sessions_per_lease;
    uint64_t max_images_per_lease;
    int exports;    // enum exports_policy
    int auth;       // enum auth_method
    int protection; // 0 authenticate, 1 privacy
    char *key_file;
    uint64_t clock_skew;
    uint64_t max_ticket_lifetime;
    char **broker;
    char **announce;
    char *locality;
    int gpu_mode; // index into gpu_mode_words
    char *state_dir;
    char *paths;
    int log_level; // enum log_level
};

extern const char *const gpu_mode_words[], *const mps_share_words[];
extern const struct config_option settings_table[];

// Sets *settings from the defaults, the file PATH (NULL: none) and the command line. With
// STANDALONE, authentication, administration socket and client_sockets are off by default. Returns
// 0, or -EINVAL after it has logged all errors; *settings then has the valid values. The caller
// clears it in both cases.
int settings_read(int argc, char *const *argv, const char *path, bool standalone,
                  struct box_settings *settings) __attribute__((warn_unused_result));

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The worker's listener for clients that come over verbs: made before a client comes, as far as the
// fabric is there by then.
#include <errno.h>
#include <stdbool.h>

#include "common/log.h"
#include "worker/setup.h"
#include "worker/worker.h"

struct rdma_listener *rdma_listener;

static struct rdma_options wanted;
static bool try_again;

static bool is_set(const struct rdma_options *options)
{
    return *options->devices || options->gid_index >= 0 || options->first_port;
}

static void listen_now(void)
{
    char text[400];
    int err = rdma_listener_new(&wanted, pinned.staging, &rdma_listener, text, sizeof(text));

    try_again = err == -ENETDOWN || err == -EADDRINUSE;
    // Most machines have no device; who names one wants to know why it is not used.
    if (err && (is_set(&wanted) || try_again))
        log_warn("no rdma reason=\"%s\"", text);
    else if (err)
        log_debug("no rdma reason=\"%s\"", text);
    else
        log_info("rdma device=%s address=%s port=%u", rdma_listener_device(rdma_listener),
                 rdma_listener_address(rdma_listener), rdma_listener_port(rdma_listener));
}

void fabric_prepare(void)
{
    const struct control_rdma_settings *settings = &setup.fabric;

    if (!setup.rdma)
        return;
    wanted = (struct rdma_options){
        .devices = setup.rdma_devices,
        .turn = setup.rdma_turn,
        .gid_index = (int)settings->rdma_gid_index,
        .mtu = settings->rdma_mtu ? 128u << settings->rdma_mtu : 0,
        .service_level = (int)settings->rdma_service_level,
        .traffic_class = (uint8_t)settings->rdma_traffic_class,
        .first_port = setup.rdma_first_port,
        .last_port = setup.rdma_last_port,
        .dead_ms = (uint32_t)(settings->rdma_dead_time / 1000),
        .one_block = !setup.worker.pipeline,
    };
    listen_now();
}

void fabric_prepare_again(void)
{
    if (try_again)
        listen_now();
}

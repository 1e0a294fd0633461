// The worker's listener for clients that come over verbs: made before a client comes, as far as the
// fabric is there by then.
#include <errno.h>
#include <stdbool.h>

#include "common/log.h"
#include "worker/worker.h"

struct rdma_listener *rdma_listener;

static struct rdma_options wanted;
static bool try_again;

static bool is_set(const struct rdma_options *options)
{
    return options->devices || options->gid_index >= 0 || options->first_port;
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

void fabric_prepare(const struct worker_options *options)
{
    wanted = options->rdma_options;
    if (options->rdma)
        listen_now();
}

void fabric_prepare_again(void)
{
    if (try_again)
        listen_now();
}

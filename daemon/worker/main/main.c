// SPDX-License-Identifier: BSD-3-Clause
// rgpu-worker: receives its settings, confines itself, creates a context on its GPU, reports that
// it is ready, and serves one client.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/net/fdpass.h"
#include "common/service/ledger.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/service/program.h"
#include "daemon/worker/confine/confine.h"
#include "daemon/worker/core/crash.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/mps_client_setup.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/copy/parts/print.h"
#include "daemon/worker/core/placement.h"
#include "daemon/worker/main/parts.h"
#include "daemon/worker/main/run.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "daemon/worker/core/snapshot.h"
#include "daemon/worker/main/welcome.h"
#include "worker_driver.h"

// ---- before a client comes ----

static int cuda_failure(const char *step, CUresult result, struct control_failed *failed)
{
    failed->result = (int32_t)result;
    snprintf(failed->text, sizeof(failed->text), "%s: %s (%d)", step, driver_error_name(result),
             (int)result);
    return -EIO;
}

// Returns the memory of a second context; 0 if other processes gave as much back meanwhile, or if
// it is unknown.
static size_t second_context(const struct gpu *device)
{
    size_t before = 0, after = 0, total = 0;
    CUcontext second = NULL;

    if (driver.cuMemGetInfo_v2(&before, &total) != CUDA_SUCCESS ||
        driver.cuCtxCreate_v2(&second, 0, device->handle) != CUDA_SUCCESS)
        return 0;
    bool known = driver.cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS && after < before;
    driver.cuCtxDestroy_v2(second);
    return known ? before - after : 0;
}

// Measures a bare context as the difference that a second one makes; the first one shares its
// device with other processes whose part is not known. These take and give back memory meanwhile,
// so a result counts if it comes twice in a row. Workers that start at the same time disturb the
// measurement, so only the supervisor's first one makes it.
static void measure_context(struct gpu *device)
{
    enum { TRIES = 6 };
    size_t last = 0;

    if (!setup.measures_context) {
        device->context_cost = setup.context_cost;
        return;
    }
    if (!driver.cuCtxCreate_v2 || !driver.cuCtxDestroy_v2 || !driver.cuMemGetInfo_v2)
        return;
    for (int i = 0; i < TRIES; i++) {
        size_t cost = second_context(device);
        if (cost)
            device->context_cost = cost;
        if (cost && cost == last)
            return;
        last = cost;
    }
}

// The GPU is full of other processes' memory. The worker serves its client's other GPUs, and this
// one once there is room: the context is made when the client asks for it, and that call gets the
// driver's error.
static int go_without_context(void)
{
    log_warn("the GPU has no memory for a context: it is made when a client asks for it device=%u",
             setup.device);
    gpus.list[setup.device].context_cost = setup.context_cost;
    snapshot_prepare();
    return 0;
}

static int worker_make_context(struct control_failed *failed)
{
    CUcontext context;

    if (setup.device >= (unsigned)gpus.count || !gpus.list[setup.device].present) {
        failed->result = CUDA_ERROR_INVALID_DEVICE;
        snprintf(failed->text, sizeof(failed->text), "there is no device %u, the driver has %d",
                 setup.device, gpus.count);
        return -ENODEV;
    }
    CUresult result = gpu_primary((int)setup.device, &context);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return go_without_context();
    if (result == CUDA_SUCCESS)
        result = driver.cuCtxSetCurrent(context);
    if (result != CUDA_SUCCESS)
        return cuda_failure("cannot make a context", result, failed);
    if (!mps_client_as_meant(gpus.list[setup.device].handle))
        return cuda_failure("the GPU's MPS daemon has not taken the worker as its client",
                            CUDA_ERROR_MPS_CONNECTION_FAILED, failed);
    measure_context(&gpus.list[setup.device]);
    driver.cuCtxSetCurrent(context);
    result = pinned_register();
    if (result != CUDA_SUCCESS)
        return cuda_failure("cannot register host memory", result, failed);
    snapshot_prepare();
    driver.cuCtxSetCurrent(NULL);
    return 0;
}

// Before there is memory that the GPU will copy from and to.
static void go_near_gpu(void)
{
    char pci[sizeof(((struct control_device *)0)->pci)];

    if (setup.device >= (unsigned)gpus.count || !gpus.list[setup.device].present)
        return;
    gpu_pci((int)setup.device, pci, sizeof(pci));
    placement_take(pci);
}

static int worker_prepare(struct control_failed *failed)
{
    struct link_options memory = {.block_size = (uint32_t)setup.worker.block_size,
                                  .block_count = (uint32_t)setup.worker.block_count};

    failed->result = CUDA_ERROR_SYSTEM_NOT_READY;
    int err = print_capture();
    if (!err)
        err = tls_prepare_server();
    if (!err)
        err = mps_client_set_up();
    if (!err)
        err = driver_load(command.driver, failed->text, sizeof(failed->text));
    if (err)
        return err;
    parts_prepare();
    CUresult result = gpus_discover();
    if (result != CUDA_SUCCESS)
        return cuda_failure("the driver does not start", result, failed);
    go_near_gpu();
    err = shm_memory_new(&memory, &pinned.shm);
    if (err) {
        snprintf(failed->text, sizeof(failed->text), "no memory to share: %s", strerror(-err));
        return err;
    }
    pinned.staging = shm_memory_staging(pinned.shm);
    err = worker_make_context(failed);
    if (!err)
        transports_prepare();
    return err;
}

static int report_ready(void)
{
    static struct control_ready ready;

    ready.pid = (uint32_t)getpid();
    ready.driver_version = (uint32_t)gpus.driver_version;
    ready.devices_count = (uint32_t)gpus.count;
    snprintf(ready.place, sizeof(ready.place), "%s", placement_text());
    gpus_describe(ready.devices);
    return control_send_packet(CONTROL_WORKER_SUPERVISOR_FD, CONTROL_READY, &ready, -1);
}

// ---- waiting for the grant ----

// Takes the descriptors of the grant: the client's connection, the lease's account if it has one,
// and with a window its memory and doorbells.
static int take_descriptors(const struct control_grant *grant, const int *fds, size_t count,
                            int *client_fd, int *account_fds)
{
    enum { OF_WINDOW = 1 + VM_WINDOW_DOORBELLS };
    size_t others = *grant->window_id ? OF_WINDOW : 0;

    if (count != 1 + others && count != 1 + LEDGER_FDS + others)
        return -EBADMSG;
    *client_fd = fds[0];
    for (size_t i = 0; i < LEDGER_FDS; i++)
        account_fds[i] = count > 1 + others ? fds[1 + i] : -1;
    if (others)
        transports_take_window(fds[count - OF_WINDOW], &fds[count - VM_WINDOW_DOORBELLS]);
    return 0;
}

static int worker_await_grant(struct control_grant *grant, int *client_fd, int *account_fds)
{
    int fds[FDPASS_MAX];
    size_t count;
    struct control_frame frame = {0};
    int err;

    do {
        struct pollfd readable = {.fd = CONTROL_WORKER_SUPERVISOR_FD, .events = POLLIN};
        while (poll(&readable, 1, -1) < 0 && errno == EINTR)
            ;
        count = FDPASS_MAX;
        err = control_receive_packet_with(CONTROL_WORKER_SUPERVISOR_FD, &frame, fds, &count);
    } while (err == -EAGAIN);
    if (!err && frame.header.type == CONTROL_END)
        err = -ECONNRESET;
    if (!err)
        err = control_decode(&frame, CONTROL_GRANT, grant);
    if (!err)
        err = take_descriptors(grant, fds, count, client_fd, account_fds);
    if (!err)
        control_frame_free(&frame);
    return err;
}

// ---- the whole of it ----

static const struct program_about about = {
    .name = "rgpu-worker",
    .usage =
        "usage: rgpu-worker DRIVER CUPTI NCCL refuse|log\n"
        "Serves one client on a GPU. rgpu-spawner starts it, with a socket over which rgpud says the rest;\n"
        "started by hand it does nothing. Its settings are those of rgpud.conf: see rgpud(8).\n",
};

__attribute__((noreturn)) static void fail_start(int err, struct control_failed *failed, int status)
{
    if (!*failed->text)
        snprintf(failed->text, sizeof(failed->text), "%s", strerror(-err));
    log_error("device=%u error=\"%s\"", setup.device, failed->text);
    if (control_send_packet(CONTROL_WORKER_SUPERVISOR_FD, CONTROL_FAILED, failed, -1))
        log_debug("the failure was not taken");
    _exit(status);
}

// Descriptors that were left open by mistake do not reach a client's worker.
static void close_others(void)
{
    if (!setup.refusals)
        close(CONTROL_WORKER_REFUSALS_FD);
    if (!setup.has_clients)
        close(CONTROL_WORKER_CLIENTS_FD);
    (void)descriptor_close_from(CONTROL_WORKER_CLIENTS_FD + 1, false);
}

// The driver may lie where our user cannot look, as in a tree under somebody's home.
static void find_driver(void)
{
    if (strchr(command.driver, '/') && access(command.driver, R_OK))
        snprintf(command.driver, sizeof(command.driver), "/proc/self/fd/%d",
                 CONTROL_WORKER_LIBRARY_FD);
    else
        close(CONTROL_WORKER_LIBRARY_FD);
}

// Done before the process gives up rights that the setup may need.
static void take_setup(struct control_failed *failed)
{
    int err = setup_receive();

    if (err == -ECONNRESET)
        _exit(0);
    if (!err)
        return;
    snprintf(
        failed->text, sizeof(failed->text),
        "what rgpud says first is not understood (%s): rgpud and rgpu-worker must be of one version",
        strerror(-err));
    fail_start(err, failed, CONTROL_WORKER_OTHER_BUILD);
}

int main(int argc, char **argv)
{
    static struct control_grant grant;
    struct control_failed failed = {.result = CUDA_ERROR_SYSTEM_NOT_READY};
    int client_fd = -1, account_fds[LEDGER_FDS];

    log_init("rgpu-worker", LOG_LEVEL_INFO);
    if (program_answer(&about, argc, argv))
        return 0;
    if (setup_parse(argc, argv) || !setup_is_offered()) {
        fputs(about.usage, stderr);
        return CONTROL_WORKER_OTHER_BUILD;
    }
    signal(SIGPIPE, SIG_IGN);
    crash_report_start();
    take_setup(&failed);
    close_others();
    find_driver();
    int err = *setup.visible && setenv("CUDA_VISIBLE_DEVICES", setup.visible, 1) ? -ENOMEM : 0;
    if (!err)
        err = transports_listen();
    placement_look();
    if (!err)
        err = confine(failed.text, sizeof(failed.text));
    if (!err)
        err = worker_prepare(&failed);
    if (err)
        fail_start(err, &failed, 1);
    if (report_ready())
        _exit(1);
    err = worker_await_grant(&grant, &client_fd, account_fds);
    if (err == -ECONNRESET)
        _exit(0);
    if (!err)
        err = session_open_account(&grant, account_fds);
    if (err) {
        log_error("cannot take a client error=\"%s\"", strerror(-err));
        _exit(1);
    }
    run_session(CONTROL_WORKER_SUPERVISOR_FD, &grant, client_fd);
}

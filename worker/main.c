// rgpu-worker: confines itself, makes a context on its GPU before a client comes, says that it is ready,
// takes one client from the supervisor and serves it until it ends.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/log.h"
#include "worker/confine/confine.h"
#include "worker/execute/charge.h"

static void usage(FILE *out)
{
    fprintf(out,
            "usage: rgpu-worker --driver LIBRARY --device N --control-fd FD [options]\n"
            "Serves one client on a GPU; started by rgpud.\n"
            "  --driver LIBRARY    path of the GPU's driver library\n"
            "  --device N          the device whose context is made before a client comes\n"
            "  --control-fd FD     packet socket to the supervisor\n"
            "  --block-size BYTES  of a staging block (524288); 0: measured over rdma\n"
            "  --block-count N     staging blocks (32)\n"
            "  --gpudirect MODE,TO-MIN,TO-MAX,FROM-MIN,FROM-MAX\n"
            "                      0 auto, 1 dma-buf, 2 peer memory, 3 no; bytes, max 0: no limit (3)\n"
            "  --no-pipeline       one block of a copy at a time, for comparison\n"
            "  --spin-us N         how long a wait polls before it sleeps (what suits the machine)\n"
            "  --context-cost BYTES\n"
            "                      what a context takes of the device, where that is known\n"
            "  --rdma any|LIST     be ready for clients over RDMA, on any device or one of the list\n"
            "                      of addresses and devices (mlx5_0:1)\n"
            "  --rdma-turn N       begin with the device and port whose turn it is (0)\n"
            "  --rdma-gid N        entry of the port's GID table (that of the address)\n"
            "  --rdma-mtu BYTES    largest packet (what the path takes)\n"
            "  --rdma-sl N         service level (the fabric's)\n"
            "  --rdma-ports A-B    ports to listen on (any)\n"
            "  --rdma-class N      traffic class of packets over RDMA (0)\n"
            "  --rdma-dead-ms N    a peer that does not answer so long is gone (10000)\n"
            "  --user UID          what to become, before anything else\n"
            "  --memory BYTES      what the process may allocate for itself (any)\n"
            "  --gpu N:UUID        use this device alone, and call it N; may be repeated (all)\n"
            "  --node PATH         a device node to use; may be repeated\n"
            "  --driver-fd FD      stays open for the driver\n"
            "  --refusals-fd FD    socket over which the supervisor is asked about system calls\n"
            "  --filter-log        refuse none of them and no file, to learn what a driver needs\n");
}

static bool number(const char *text, int64_t max, int64_t *out)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > max) {
        fprintf(stderr, "rgpu-worker: %s is not a number from 0 to %lld\n", text, (long long)max);
        return false;
    }
    *out = value;
    return true;
}

static bool parse_gpudirect(const char *text, struct gpudirect_options *out)
{
    unsigned mode;

    if (sscanf(text, "%u,%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64, &mode, &out->least[0],
               &out->most[0], &out->least[1], &out->most[1]) != 5 || mode > GPUDIRECT_NO)
        return false;
    out->mode = (enum gpudirect)mode;
    return true;
}

static bool parse_gpu(const char *text, struct worker_options *options)
{
    struct worker_gpu *gpu = &options->gpus[options->gpu_count];
    int n = 0;

    if (options->gpu_count == DEVICES_MAX || sscanf(text, "%2d:%n", &gpu->ordinal, &n) != 1 || !n ||
        gpu->ordinal < 0 || gpu->ordinal >= DEVICES_MAX || strlen(text + n) != 32)
        return false;
    for (int i = 0; i < 16; i++)
        if (sscanf(text + n + 2 * i, "%2hhx", &gpu->uuid[i]) != 1)
            return false;
    options->gpu_count++;
    return true;
}

static int parse(int argc, char **argv, struct worker_options *options)
{
    static const struct option names[] = {
        {"driver", required_argument, NULL, 'd'},     {"device", required_argument, NULL, 'n'},
        {"control-fd", required_argument, NULL, 'c'}, {"block-size", required_argument, NULL, 's'},
        {"block-count", required_argument, NULL, 'b'}, {"spin-us", required_argument, NULL, 'p'},
        {"no-pipeline", no_argument, NULL, 'o'},      {"gpudirect", required_argument, NULL, 'y'},
        {"context-cost", required_argument, NULL, 'x'},
        {"user", required_argument, NULL, 'u'},       {"memory", required_argument, NULL, 'k'},
        {"node", required_argument, NULL, 'j'},       {"driver-fd", required_argument, NULL, 'f'},
        {"gpu", required_argument, NULL, 'G'},
        {"refusals-fd", required_argument, NULL, 'a'}, {"filter-log", no_argument, NULL, 'w'},
        {"rdma", required_argument, NULL, 'r'},       {"rdma-class", required_argument, NULL, 't'},
        {"rdma-dead-ms", required_argument, NULL, 'l'}, {"rdma-turn", required_argument, NULL, 'e'},
        {"rdma-gid", required_argument, NULL, 'i'},   {"rdma-mtu", required_argument, NULL, 'm'},
        {"rdma-sl", required_argument, NULL, 'v'},    {"rdma-ports", required_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},             {0},
    };
    int64_t value = 0;
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (strchr("ncsbpukfaxtleimv", c) &&
            !number(optarg, strchr("xk", c) ? INT64_MAX : INT32_MAX, &value))
            return -EINVAL;
        switch (c) {
        case 'd': options->driver_path = optarg; break;
        case 'n': options->device = (int)value; break;
        case 'c': options->control_fd = (int)value; break;
        case 's':
            options->block_size = (uint32_t)value;
            options->block_size_auto = !value;
            break;
        case 'b': options->block_count = (uint32_t)value; break;
        case 'p': options->spin_us = value; break;
        case 'o': options->no_pipeline = options->rdma_options.one_block = true; break;
        case 'y':
            if (!parse_gpudirect(optarg, &options->gpudirect))
                return -EINVAL;
            break;
        case 'x': options->context_cost = value; break;
        case 'u': options->user = value; break;
        case 'k': options->memory_limit = value; break;
        case 'f': options->driver_fd = (int)value; break;
        case 'a': options->refusals_fd = (int)value; break;
        case 'w': options->filter_log = true; break;
        case 'G':
            if (!parse_gpu(optarg, options))
                return -EINVAL;
            break;
        case 'j':
            if (options->node_count == NODES_MAX)
                return -EINVAL;
            options->nodes[options->node_count++] = optarg;
            break;
        case 'r':
            options->rdma = true;
            options->rdma_options.devices = strcmp(optarg, "any") ? optarg : NULL;
            break;
        case 't': options->rdma_options.traffic_class = (uint8_t)value; break;
        case 'l': options->rdma_options.dead_ms = (uint32_t)value; break;
        case 'e': options->rdma_options.turn = (unsigned)value; break;
        case 'i': options->rdma_options.gid_index = (int)value; break;
        case 'm': options->rdma_options.mtu = (unsigned)value; break;
        case 'v': options->rdma_options.service_level = (int)value; break;
        case 'q':
            if (sscanf(optarg, "%hu-%hu", &options->rdma_options.first_port,
                       &options->rdma_options.last_port) != 2)
                return -EINVAL;
            break;
        case 'h': usage(stdout); exit(0);
        default: return -EINVAL;
        }
    }
    return options->driver_path && options->control_fd > 2 ? 0 : -EINVAL;
}

// ---- before a client comes ----

static int cuda_failure(const char *step, CUresult result, struct control_failed *failed)
{
    failed->result = (int32_t)result;
    snprintf(failed->text, sizeof(failed->text), "%s: %s (%d)", step, driver_error_name(result),
             (int)result);
    return -EIO;
}

// What a bare context takes, as the difference that a second one makes; the first one shares its
// device with other processes whose part cannot be told apart. Workers that start at the same time
// disturb the measurement, so the supervisor has it made by its first one only.
static void measure_context(const struct worker_options *options, struct device *device)
{
    size_t before = 0, after = 0, total = 0;
    CUcontext second = NULL;
    bool measured = false;

    if (options->context_cost >= 0) {
        device->context_cost = (uint64_t)options->context_cost;
        return;
    }
    if (!driver.cuCtxCreate_v2 || !driver.cuCtxDestroy_v2 || !driver.cuMemGetInfo_v2)
        return;
    // Another process may give memory back meanwhile.
    for (int i = 0; !measured && i < 3; i++) {
        if (driver.cuMemGetInfo_v2(&before, &total) != CUDA_SUCCESS ||
            driver.cuCtxCreate_v2(&second, 0, device->handle) != CUDA_SUCCESS)
            return;
        measured = driver.cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS && after < before;
        driver.cuCtxDestroy_v2(second);
    }
    if (measured)
        device->context_cost = before - after;
}

static int make_context(const struct worker_options *options, struct control_failed *failed)
{
    CUcontext context;

    if (options->device >= devices.count || !devices.list[options->device].present) {
        failed->result = CUDA_ERROR_INVALID_DEVICE;
        snprintf(failed->text, sizeof(failed->text), "there is no device %d, the driver has %d",
                 options->device, devices.count);
        return -ENODEV;
    }
    CUresult result = device_primary(options->device, &context);
    if (result == CUDA_SUCCESS)
        result = driver.cuCtxSetCurrent(context);
    if (result != CUDA_SUCCESS)
        return cuda_failure("cannot make a context", result, failed);
    measure_context(options, &devices.list[options->device]);
    driver.cuCtxSetCurrent(context);
    result = pinned_register();
    if (result != CUDA_SUCCESS)
        return cuda_failure("cannot register host memory", result, failed);
    snapshot_prepare();
    driver.cuCtxSetCurrent(NULL);
    return 0;
}

static int prepare(const struct worker_options *options, struct control_failed *failed)
{
    struct link_options memory = {.block_size = options->block_size,
                                  .block_count = options->block_count};

    failed->result = CUDA_ERROR_SYSTEM_NOT_READY;
    int err = print_capture();
    if (!err)
        err = tls_prepare();
    if (!err)
        err = driver_load(options->driver_path, failed->text, sizeof(failed->text));
    if (err)
        return err;
    linker_prepare();
    memory_prepare();
    charges_prepare();
    crossing_prepare();
    host_memory_prepare();
    CUresult result = devices_discover(options);
    if (result != CUDA_SUCCESS)
        return cuda_failure("the driver does not start", result, failed);
    err = shm_memory_new(&memory, &pinned.shm);
    if (err) {
        snprintf(failed->text, sizeof(failed->text), "no memory to share: %s", strerror(-err));
        return err;
    }
    pinned.staging = shm_memory_staging(pinned.shm);
    err = make_context(options, failed);
    if (!err && options->rdma)
        fabric_prepare(options);
    return err;
}

static int report_ready(int control_fd)
{
    static struct control_ready ready;

    ready.pid = (uint32_t)getpid();
    ready.driver_version = (uint32_t)devices.driver_version;
    ready.devices_count = (uint32_t)devices.count;
    devices_describe(ready.devices);
    return control_send_packet(control_fd, CONTROL_READY, &ready, -1);
}

// ---- waiting for the grant ----

static int await_grant(int control_fd, struct control_grant *grant, int *client_fd,
                       int *account_fd)
{
    int fds[2];
    size_t count;
    struct control_frame frame = {0};
    int err;

    do {
        struct pollfd readable = {.fd = control_fd, .events = POLLIN};
        while (poll(&readable, 1, -1) < 0 && errno == EINTR)
            ;
        count = 2;
        err = control_receive_packet_with(control_fd, &frame, fds, &count);
    } while (err == -EAGAIN);
    if (!err && frame.header.type == CONTROL_END)
        err = -ECONNRESET;
    if (!err)
        err = control_decode(&frame, CONTROL_GRANT, grant);
    if (!err && !count)
        err = -EBADMSG;
    if (!err) {
        *client_fd = fds[0];
        *account_fd = count > 1 ? fds[1] : -1;
    }
    control_frame_free(&frame);
    return err;
}

static int follow_parent(void)
{
    pid_t parent = getppid();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

// Descriptors that were left open by mistake do not reach a client's worker.
static void close_others(const struct worker_options *options)
{
    const int wanted[] = {options->control_fd, options->refusals_fd, options->driver_fd};

    for (int fd = STDERR_FILENO + 1;;) {
        int next = INT_MAX; // of those that stay open
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (wanted[i] >= fd && wanted[i] < next)
                next = wanted[i];
        if (next > fd)
            close_range((unsigned)fd, (unsigned)next - 1, 0);
        if (next == INT_MAX)
            return;
        fd = next + 1;
    }
}

int main(int argc, char **argv)
{
    static struct control_grant grant;
    struct worker_options options = {.spin_us = -1, .user = -1,
                                     .driver_fd = -1, .refusals_fd = -1, .context_cost = -1, .gpudirect.mode = GPUDIRECT_NO,
                                      .rdma_options = RDMA_OPTIONS_DEFAULT};
    struct control_failed failed = {0};
    int client_fd = -1, account_fd = -1;

    log_init("rgpu-worker", LOG_LEVEL_INFO);
    if (parse(argc, argv, &options)) {
        usage(stderr);
        return 2;
    }
    if (follow_parent())
        return 0;
    signal(SIGPIPE, SIG_IGN);
    crash_report_start();
    close_others(&options);
    session.spin_us = options.spin_us < 0 ? link_default_spin_us() : (uint32_t)options.spin_us;
    session.block_size_auto = options.block_size_auto;
    session.no_pipeline = options.no_pipeline;
    session.gpudirect = options.gpudirect;
    int err = session_listen();
    if (!err)
        err = confine(&options, failed.text, sizeof(failed.text));
    if (!err)
        err = prepare(&options, &failed);
    if (err) {
        if (!*failed.text)
            snprintf(failed.text, sizeof(failed.text), "%s", strerror(-err));
        log_error("device=%d error=\"%s\"", options.device, failed.text);
        if (control_send_packet(options.control_fd, CONTROL_FAILED, &failed, -1))
            log_debug("the failure was not taken");
        _exit(1);
    }
    if (report_ready(options.control_fd))
        _exit(1);
    err = await_grant(options.control_fd, &grant, &client_fd, &account_fd);
    if (err == -ECONNRESET)
        _exit(0);
    if (!err)
        err = session_open_account(&grant, account_fd);
    if (err) {
        log_error("cannot take a client error=\"%s\"", strerror(-err));
        _exit(1);
    }
    session_run(options.control_fd, &grant, client_fd);
}

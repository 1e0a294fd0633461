// Starting a worker process: its sockets, its arguments, its environment.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/spawn.h"
#include "daemon/confinement.h"
#include "daemon/fabric.h"
#include "daemon/worker.h"

struct worker_arguments {
    char device[16], block_size[24], block_count[24], spin[24], user[16], memory[24], cost[24];
    char gpudirect[96], nodes[NODES_MAX][NODE_BYTES];
    struct fabric_arguments fabric;
    char gpus[BOX_DEVICES_MAX][48];
    char *list[40 + FABRIC_ARGUMENTS_MAX + 2 * NODES_MAX + 2 * BOX_DEVICES_MAX];
    size_t count;
};

static void add_argument(struct worker_arguments *arguments, const char *name, char *value)
{
    arguments->list[arguments->count++] = (char *)name;
    arguments->list[arguments->count++] = value;
}

static const struct device *measured_device(const struct box *box, uint32_t ordinal)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].ordinal == ordinal && box->devices[i].measured)
            return &box->devices[i];
    return NULL;
}

// The driver numbers the devices that it can reach; their identities tell which ones these are.
static void add_gpus(const struct box *box, device_set sees, struct worker_arguments *out)
{
    for (uint32_t i = 0; sees && i < box->device_count; i++) {
        const struct device *device = &box->devices[i];
        if (!(sees >> device->ordinal & 1))
            continue;
        char *text = out->gpus[i];
        int n = snprintf(text, sizeof(out->gpus[i]), "%u:", device->ordinal);
        for (int j = 0; j < 16; j++)
            n += snprintf(text + n, sizeof(out->gpus[i]) - (size_t)n, "%02x",
                          device->info.uuid[j]);
        add_argument(out, "--gpu", text);
    }
}

static void add_confinement(const struct box *box, const struct worker_part *part,
                            struct worker_arguments *out)
{
    size_t nodes = confinement_nodes(box, part->sees, out->nodes);

    add_gpus(box, part->sees, out);
    if (part->user) {
        snprintf(out->user, sizeof(out->user), "%u", (unsigned)part->user);
        add_argument(out, "--user", out->user);
    }
    // A software GPU's memory is its worker's own.
    if (box->settings.worker_memory && !box->choice.software) {
        snprintf(out->memory, sizeof(out->memory), "%llu",
                 (unsigned long long)box->settings.worker_memory);
        add_argument(out, "--memory", out->memory);
    }
    for (size_t i = 0; i < nodes; i++)
        add_argument(out, "--node", out->nodes[i]);
    add_argument(out, "--refusals-fd", "4");
    add_argument(out, "--driver-fd", "5");
    if (box->settings.worker_filter)
        out->list[out->count++] = "--filter-log";
}

static void fill_arguments(struct box *box, const struct worker_part *part,
                           struct worker_arguments *out)
{
    const struct settings *settings = &box->settings;

    *out = (struct worker_arguments){.list = {"rgpu-worker"}, .count = 1};
    snprintf(out->device, sizeof(out->device), "%u", part->ordinal);
    snprintf(out->block_size, sizeof(out->block_size), "%llu",
             (unsigned long long)settings->block_size);
    snprintf(out->block_count, sizeof(out->block_count), "%lld",
             (long long)settings->block_count);
    snprintf(out->spin, sizeof(out->spin), "%lld", (long long)settings->spin_us);
    add_argument(out, "--driver", box->driver_path);
    add_argument(out, "--device", out->device);
    add_argument(out, "--control-fd", "3");
    add_argument(out, "--block-size", out->block_size);
    add_argument(out, "--block-count", out->block_count);
    if (!settings->pipeline)
        out->list[out->count++] = "--no-pipeline";
    snprintf(out->gpudirect, sizeof(out->gpudirect), "%d,%llu,%llu,%llu,%llu", settings->gpudirect,
             (unsigned long long)settings->gpudirect_to_min,
             (unsigned long long)settings->gpudirect_to_max,
             (unsigned long long)settings->gpudirect_from_min,
             (unsigned long long)settings->gpudirect_from_max);
    add_argument(out, "--gpudirect", out->gpudirect);
    if (settings->spin_us >= 0)
        add_argument(out, "--spin-us", out->spin);
    // One worker measures it while nothing else happens on the device; others could not.
    const struct device *measured = measured_device(box, part->ordinal);
    if (measured) {
        snprintf(out->cost, sizeof(out->cost), "%llu",
                 (unsigned long long)measured->info.context_cost);
        add_argument(out, "--context-cost", out->cost);
    }
    fabric_arguments(settings, &out->fabric);
    for (size_t i = 0; i < out->fabric.count; i += 2)
        add_argument(out, out->fabric.list[i], (char *)out->fabric.list[i + 1]);
    add_confinement(box, part, out);
}

int worker_spawn(struct box *box, const struct worker_part *part, const struct worker_ends *ends,
                 pid_t *pid)
{
    static struct worker_arguments arguments;
    int fds[] = {-1, ends->output, ends->output, ends->control, ends->refusals, box->driver_fd};
    struct spawn_request request = {
        .program = box->worker_path,
        .arguments = arguments.list,
        .environment = box->worker_environment,
        .fds = fds,
        .fd_count = 6,
        .own_process_group = true,
    };

    fill_arguments(box, part, &arguments);
    return spawn_program(&request, pid);
}

void worker_ends_close(const struct worker_ends *ends)
{
    const int fds[] = {ends->control, ends->refusals, ends->output};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
{
    int control[2] = {-1, -1}, refusals[2] = {-1, -1}, output[2] = {-1, -1}, err = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, refusals) ||
        pipe2(output, O_CLOEXEC))
        err = -errno;
    *ours = (struct worker_ends){control[0], refusals[0], output[0]};
    *theirs = (struct worker_ends){control[1], refusals[1], output[1]};
    if (err) {
        worker_ends_close(ours);
        worker_ends_close(theirs);
        return err;
    }
    fcntl(ours->control, F_SETFL, O_NONBLOCK);
    fcntl(ours->refusals, F_SETFL, O_NONBLOCK);
    fcntl(ours->output, F_SETFL, O_NONBLOCK);
    return 0;
}

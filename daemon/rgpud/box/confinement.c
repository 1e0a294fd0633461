// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/confinement.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/security/landlock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"
#include "daemon/rgpud/box/instances.h"

// ---- protection of workers ----

static void confinement_say(const struct box *box)
{
    int landlock = landlock_abi();

    log_info("workers are confined users=%s landlock=%d filter=%s memory=%llu",
             box->users.first ? box->settings.worker_uids : "none", landlock,
             box->settings.worker.worker_filter ? "log" : "refuse",
             (unsigned long long)box->settings.worker.worker_memory);
    if (!box->users.first)
        log_warn(
            "workers are not protected from each other, nor this box's files from them, by users of "
            "their own: %s; %s",
            box->settings.worker_uids && strcmp(box->settings.worker_uids, "none")
                ? "rgpu-spawner lacks the right to change users"
                : "worker_uids is none",
            landlock ? "Landlock and the filter of system calls keep them apart"
                     : "only the filter of system calls keeps them apart");
    if (box->settings.worker.worker_filter)
        log_warn("worker_filter=log: workers are not kept from files and system calls");
}

// Makes the driver's device nodes. The driver's library starts this program if they are missing,
// but workers may not start programs, so rgpud does it if it runs as root. Under systemd the unit
// has already done it.
static void make_nodes(void)
{
    static char program[] = "/usr/bin/nvidia-modprobe";
    char first[] = "-c0", memory[] = "-u";
    char *arguments[] = {program, memory, first, NULL};
    const struct spawn_request request = {
        .program = program, .arguments = arguments, .fds = (int[]){-1, 2, 2}, .fd_count = 3};
    pid_t pid;
    int status;

    if (geteuid() || access(program, X_OK) ||
        (!access("/dev/nvidiactl", F_OK) && !access("/dev/nvidia-uvm", F_OK)))
        return;
    if (spawn_program(&request, &pid) || waitpid(pid, &status, 0) < 0 || status)
        log_warn("nvidia-modprobe does not make the driver's device nodes");
}

int confinement_check(const struct box_settings *settings)
{
    struct worker_users users;

    return programs_users(settings, &users);
}

void confinement_report(struct box *box)
{
    // Several boxes of a machine start at different points of the range, so they rarely use the
    // same user.
    box->next_user = (uid_t)getpid() * 37;
    confinement_say(box);
}

int confinement_set_up(struct box *box)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    // Our memory has the box's keys, and workers may run as our user.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return -errno;
#endif
    if (!box->choice.software)
        make_nodes();
    return 0;
}

// ---- device nodes ----

static void confinement_add(struct control_device_node *nodes, size_t *count, const char *name)
{
    if (*count < CONFINEMENT_NODES_MAX)
        snprintf(nodes[(*count)++].path, sizeof(nodes->path), "/dev/%.48s", name);
}

// Returns the number after NAME at the beginning of a line of the file, or -1 if there is none.
static int number_in(const char *path, const char *name)
{
    char line[128];
    size_t length = strlen(name);

    SCOPED_FILE FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        char *end;
        long number = strncmp(line, name, length) ? -1 : strtol(line + length, &end, 10);
        if (number >= 0 && end != line + length)
            return (int)number;
    }
    return -1;
}

// Returns the N of /dev/nvidiaN, or -1 if the driver does not report it.
static int minor_of(const struct box_device *device)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%.31s/information", device->info.pci);
    return number_in(path, "Device Minor:");
}

static bool is_gpu(const char *name)
{
    return !strncmp(name, "nvidia", 6) && name[6] &&
           strspn(name + 6, "0123456789") == strlen(name + 6);
}

static void add_all(struct control_device_node *nodes, size_t *count)
{
    DIR *directory = opendir("/dev");

    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_gpu(entry->d_name))
            confinement_add(nodes, count, entry->d_name);
    if (directory)
        closedir(directory);
}

// Adds the nodes that an instance needs besides those of its GPU: one for the GPU instance and one
// for the compute instance. The driver reports their numbers.
static bool add_instance(const struct box_device *device, int minor,
                         struct control_device_node *nodes, size_t *count)
{
    char parts[2][128];

    snprintf(parts[0], sizeof(parts[0]), "/proc/driver/nvidia/capabilities/gpu%d/mig/gi%u/access",
             minor, device->gpu_instance);
    snprintf(parts[1], sizeof(parts[1]),
             "/proc/driver/nvidia/capabilities/gpu%d/mig/gi%u/ci%u/access", minor,
             device->gpu_instance, device->compute_instance);
    for (int i = 0; i < 2; i++) {
        char name[48];
        int number = number_in(parts[i], "DeviceFileMinor:");
        if (number < 0)
            return false;
        snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%d", number);
        confinement_add(nodes, count, name);
    }
    return true;
}

static bool confinement_add_own(const struct box *box, device_set sees,
                                struct control_device_node *nodes, size_t *count)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        char name[32];
        if (!(sees >> device->ordinal & 1))
            continue;
        int number = minor_of(device);
        if (number < 0)
            return false;
        snprintf(name, sizeof(name), "nvidia%d", number);
        confinement_add(nodes, count, name);
        if (device->instance && !add_instance(device, number, nodes, count))
            return false;
    }
    return true;
}

size_t confinement_nodes(const struct box *box, device_set sees, struct control_device_node *nodes)
{
    static const char *const common[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                         "nvidia-caps-imex-channels"};
    static bool reported;
    size_t count = 0;

    if (box->choice.software)
        return 0;
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        confinement_add(nodes, &count, common[i]);
    // This directory gives access to every instance.
    if (!box->instances->count)
        confinement_add(nodes, &count, "nvidia-caps");
    size_t before = count;
    if (sees && !box->settings.peer_gpus && confinement_add_own(box, sees, nodes, &count))
        return count;
    count = before;
    add_all(nodes, &count);
    if (box->instances->count)
        confinement_add(nodes, &count, "nvidia-caps");
    if (sees && !box->settings.peer_gpus && count > before && !reported) {
        log_warn(
            "the driver does not tell which device node is which GPU's: workers may open all of them");
        reported = true;
    }
    return count;
}

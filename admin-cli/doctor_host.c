// SPDX-License-Identifier: BSD-3-Clause
// Checks RDMA devices with their ports, GIDs and permissions, the limit of locked memory, NUMA
// nodes, and munge.
#include "admin-cli/doctor_host.h"

#include <dirent.h>
#include <errno.h>
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin-cli/findings.h"
#include "common/security/features.h"

#define RDMA_DEVICES "/sys/class/infiniband"
// Blocks of a session, and the buffers of its queue pairs.
static const rlim_t memlock_wanted = 64 << 20;

static bool doctor_host_read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, (int)size, file);

    if (file)
        fclose(file);
    if (got)
        text[strcspn(text, "\n")] = '\0';
    return got;
}

// Names in a directory that begin with PREFIX, sorted; NULL ends them. The caller frees the names.
static size_t doctor_host_list(const char *path, const char *prefix, char **names, size_t max)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    while (directory && count < max && (entry = readdir(directory)))
        if (entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix)))
            names[count++] = strdup(entry->d_name);
    if (directory)
        closedir(directory);
    return count;
}

static unsigned count_gids(const char *port)
{
    char path[600], text[64], *names[256];
    snprintf(path, sizeof(path), "%s/gids", port);
    size_t count = doctor_host_list(path, "", names, 256);
    unsigned used = 0;

    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%.500s/gids/%.60s", port, names[i]);
        if (doctor_host_read_line(path, text, sizeof(text)) && strspn(text, "0:") != strlen(text))
            used++;
        free(names[i]);
    }
    return used;
}

static void look_at_port(const char *device, const char *number, const char *node)
{
    char path[400], file[420], state[64] = "unknown", name[128];

    snprintf(path, sizeof(path), RDMA_DEVICES "/%.100s/ports/%.20s", device, number);
    snprintf(name, sizeof(name), "%.100s:%.20s", device, number);
    snprintf(file, sizeof(file), "%s/state", path);
    doctor_host_read_line(file, state, sizeof(state));
    unsigned gids = count_gids(path);
    if (!strstr(state, "ACTIVE"))
        finding_problem(
            "rdma", "its port is not active",
            "%s is in state %s: look at the cable, the switch and `ibstat`; over RoCE set its "
            "interface up",
            name, state);
    else if (!gids)
        finding_problem("rdma", "it has no GID", "%s: give its interface an address", name);
    else
        finding_well("rdma", "%s is active, GIDs %u, NUMA node %s", name, gids, node);
}

static void doctor_host_look_at_device(const char *device)
{
    char path[300], node[16] = "unknown", *ports[16], *verbs[4];

    snprintf(path, sizeof(path), RDMA_DEVICES "/%.100s/device/numa_node", device);
    doctor_host_read_line(path, node, sizeof(node));
    snprintf(path, sizeof(path), RDMA_DEVICES "/%.100s/ports", device);
    size_t count = doctor_host_list(path, "", ports, 16);
    for (size_t i = 0; i < count; i++) {
        look_at_port(device, ports[i], node);
        free(ports[i]);
    }
    snprintf(path, sizeof(path), RDMA_DEVICES "/%.100s/device/infiniband_verbs", device);
    count = doctor_host_list(path, "uverbs", verbs, 4);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "/dev/infiniband/%.60s", verbs[i]);
        if (access(path, R_OK | W_OK))
            finding_problem("rdma", "you may not use it",
                            "%s: %s; give it mode 0666 or a group of yours", path, strerror(errno));
        free(verbs[i]);
    }
}

static void look_at_memlock(bool matters)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit))
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        finding_well("memlock", "unlimited");
    else if (limit.rlim_cur >= memlock_wanted || !matters)
        finding_well("memlock", "%llu KiB%s", (unsigned long long)limit.rlim_cur >> 10,
                     matters ? "" : ", which only RDMA would need more of");
    else
        finding_problem(
            "memlock", "too little memory may be locked for RDMA",
            "%llu KiB, wanted %llu: raise memlock in /etc/security/limits.conf, and for jobs "
            "LimitMEMLOCK of slurmd",
            (unsigned long long)limit.rlim_cur >> 10, (unsigned long long)memlock_wanted >> 10);
}

// Clients only have optional features: a missing one is not a problem.
static void look_at_kernel(void)
{
    size_t missing = 0;

    for (size_t i = 0; i < feature_count; i++) {
        const struct feature *feature = &features[i];
        if (feature->user != FEATURE_OF_CLIENTS || feature->present())
            continue;
        missing++;
        finding_well("kernel", "no %s (Linux %s): %s", feature->name, feature->since,
                     feature->cost);
    }
    if (!missing)
        finding_well("kernel", "has all that programs with remote GPUs use");
}

void doctor_host(void)
{
    char *names[64];
    size_t count = doctor_host_list("/sys/devices/system/node", "node", names, 64);

    for (size_t i = 0; i < count; i++)
        free(names[i]);
    look_at_kernel();
    finding_well("numa", "nodes %zu", count ? count : 1);
    count = doctor_host_list(RDMA_DEVICES, "", names, 64);
    if (!count)
        finding_well("rdma", "no device here: sessions take shm or tcp");
    for (size_t i = 0; i < count; i++) {
        doctor_host_look_at_device(names[i]);
        free(names[i]);
    }
    look_at_memlock(count > 0);
}

void doctor_munge(bool needed, const char *socket)
{
    munge_ctx_t context = munge_ctx_create();
    char *credential = NULL;

    if (!socket)
        socket = getenv("RGPU_MUNGE_SOCKET");
    if (!needed)
        finding_well("munge", "not asked: the broker is reached without it");
    if (!needed || !context) {
        munge_ctx_destroy(context);
        return;
    }
    if (socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, socket);
    munge_err_t error = munge_encode(&credential, context, NULL, 0);
    if (!error)
        error = munge_decode(credential, context, NULL, NULL, NULL, NULL);
    if (error)
        finding_problem("munge", munge_strerror(error),
                        "start munged here (systemctl start munge) with the "
                        "cluster's key, or name a shared key with --key");
    else
        finding_well("munge", "munged makes and reads credentials");
    free(credential);
    munge_ctx_destroy(context);
}

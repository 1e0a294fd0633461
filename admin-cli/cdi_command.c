// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl cdi: describes remote GPUs as a device of the Container Device Interface. Containers get
// the client library, the sockets of this host's box, and the ticket of a lease.
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-cli/output/command.h"
#include "admin-cli/ping.h"
#include "common/base/scope.h"
#include "common/driver/nccl_preload.h"
#include "common/net/endpoint.h"
#include "common/net/control.h"
#include "common/security/ticket.h"

#define CDI_VERSION "0.5.0"
#define CDI_TICKET "/run/rgpu-ticket"

#ifdef __aarch64__
#define CDI_MULTIARCH "aarch64-linux-gnu"
#else
#define CDI_MULTIARCH "x86_64-linux-gnu"
#endif

// Loaders search these folders without a cache or variable, so that images keep their own
// LD_LIBRARY_PATH: Debian's and Ubuntu's, and that of Enterprise Linux and SUSE.
static const char *const cdi_folders[] = {"/usr/lib/" CDI_MULTIARCH, "/usr/lib64"};
static const char *const cdi_libraries[] = {"libcuda.so.1", "libnvidia-ml.so.1", "librgpu.so.1"};

enum { CDI_FOLDERS = sizeof(cdi_folders) / sizeof(cdi_folders[0]) };
enum { CDI_LIBRARIES = sizeof(cdi_libraries) / sizeof(cdi_libraries[0]) };

struct cdi_lease {
    char ticket[PATH_MAX]; // "": no lease
    char id[TICKET_NAME_MAX];
    bool apart; // its GPUs, for nccl_preload()
};

static int cdi_find_libraries(char directory[PATH_MAX])
{
    char path[PATH_MAX];

    if (ping_library(path, sizeof(path))) {
        fprintf(stderr,
                "rgpuctl cdi: the client library is not installed (no %s): install rgpu-client\n",
                path);
        return EXIT_UNREACHABLE;
    }
    *strrchr(path, '/') = '\0';
    if (realpath(path, directory))
        return 0;
    fprintf(stderr, "rgpuctl cdi: %s: %s\n", path, strerror(errno));
    return EXIT_UNREACHABLE;
}

static int cdi_read_ticket(const char *path, struct cdi_lease *out)
{
    struct ticket_bundle bundle;
    int err;

    if (!path || !*path)
        return 0;
    err = realpath(path, out->ticket) ? ticket_bundle_load_file(path, &bundle) : -errno;
    if (!err) {
        out->apart = !endpoint_boxes_share_memory(bundle.count, bundle.entries[0].addresses,
                                                  getenv("RGPU_TRANSPORT"));
        err = ticket_lease(&bundle.entries[0], out->id);
        ticket_bundle_free(&bundle);
    }
    if (!err)
        return 0;
    fprintf(stderr, "rgpuctl cdi: cannot use the ticket file %s: %s\n", path,
            err == -EPERM     ? "others can read it, or it is not yours"
            : err == -EBADMSG ? "it holds no ticket"
                              : strerror(-err));
    return EXIT_USAGE;
}

static void cdi_mount(json_t *mounts, const char *from, const char *to)
{
    json_array_append_new(mounts, json_pack("{s:s, s:s, s:[s, s]}", "hostPath", from,
                                            "containerPath", to, "options", "ro", "rbind"));
}

// The directory itself serves what programs preload from it.
static void cdi_mount_libraries(json_t *mounts, const char *directory)
{
    char from[PATH_MAX + 32], to[64];

    cdi_mount(mounts, directory, directory);
    for (size_t i = 0; i < CDI_FOLDERS * CDI_LIBRARIES; i++) {
        const char *name = cdi_libraries[i % CDI_LIBRARIES];
        snprintf(from, sizeof(from), "%s/%s", directory, name);
        snprintf(to, sizeof(to), "%s/%s", cdi_folders[i / CDI_LIBRARIES], name);
        if (!access(from, R_OK))
            cdi_mount(mounts, from, to);
    }
}

static const char *cdi_kind(const struct cdi_lease *lease)
{
    return *lease->ticket ? "rgpu/lease" : "rgpu/box";
}

static json_t *cdi_describe(const char *directory, const struct cdi_lease *lease)
{
    json_t *mounts = json_array(), *variables = json_array();
    const char *sockets = getenv("RGPU_CLIENT_SOCKETS");
    char preload[PATH_MAX + 64];
    bool leased = *lease->ticket;

    if (!sockets)
        sockets = CONTROL_CLIENT_SOCKETS;
    cdi_mount_libraries(mounts, directory);
    // Hosts without a box have no sockets.
    if (!access(sockets, F_OK)) {
        cdi_mount(mounts, sockets, CONTROL_CLIENT_SOCKETS);
        if (!leased)
            json_array_append_new(variables,
                                  json_string("RGPU_BOXES=unix:" CONTROL_CLIENT_SOCKETS "/box"));
    }
    if (leased) {
        cdi_mount(mounts, lease->ticket, CDI_TICKET);
        json_array_append_new(variables, json_string("RGPU_TICKET_FILE=" CDI_TICKET));
    }
    if (nccl_preload(directory, NULL, getenv("RGPU_NCCL"), lease->apart, preload, sizeof(preload)))
        json_array_append_new(variables, json_sprintf("LD_PRELOAD=%s", preload));
    return json_pack("{s:s, s:s, s:[{s:s, s:{s:o, s:o}}]}", "cdiVersion", CDI_VERSION, "kind",
                     cdi_kind(lease), "devices", "name", leased ? lease->id : "all",
                     "containerEdits", "env", variables, "mounts", mounts);
}

static int run_cdi(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    struct cdi_lease lease = {0};
    char directory[PATH_MAX];
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    bool name = line.argc == 1 && !strcmp(line.argv[0], "name");
    if (line.argc != 1 || (!name && strcmp(line.argv[0], "generate") != 0)) {
        fprintf(stderr, "rgpuctl cdi: generate or name; see rgpuctl cdi --help\n");
        return EXIT_USAGE;
    }
    const char *ticket = command_value(command, &line, "ticket-file");
    status = cdi_read_ticket(ticket ? ticket : getenv("RGPU_TICKET_FILE"), &lease);
    if (!status && name) {
        printf("%s=%s\n", cdi_kind(&lease), *lease.ticket ? lease.id : "all");
        return 0;
    }
    if (!status)
        status = cdi_find_libraries(directory);
    if (status)
        return status;
    json_t *description = cdi_describe(directory, &lease);
    json_dumpf(description, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(description);
    return 0;
}

static const struct command_option cdi_options[] = {
    {"ticket-file", "FILE", "of the lease; empty: describe no lease [RGPU_TICKET_FILE]", 0},
    {0},
};

const struct command cdi_commands[] = {
    {"cdi", "generate|name",
     "Prints a CDI description, or the name for --device of what it describes.", cdi_options,
     run_cdi},
    {0},
};

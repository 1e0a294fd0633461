// SPDX-License-Identifier: BSD-3-Clause
// Landlock rules: libraries and descriptions of the machine are readable, the device nodes of the
// worker's GPUs are accessible, and nothing else is writable. Landlock also prevents tracing and
// signalling of other processes and new connections, if the kernel supports that. If the site's
// NCCL may run, connections are not restricted.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/security/landlock.h"
#include "common/base/log.h"
#include "daemon/worker/confine/files.h"
#include "daemon/worker/core/setup.h"

enum {
    READ = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
    USE = READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV,
    PLACES_MAX = 128,
};

static const struct {
    const char *path;
    int access;
} usual[] = {
    {"/usr", READ},
    {"/lib", READ},
    {"/lib64", READ},
    {"/etc/ld.so.cache", READ},
    {"/etc/libibverbs.d", READ},
    {"/etc/libnl", READ},
    {"/etc/nvidia", READ},
    {"/etc/localtime", READ},
    {"/etc/ssl", READ},
    {"/sys", READ},
    // Not all of /proc: other processes are none of our business.
    {"/proc/self", READ},
    // NVIDIA's driver gives its threads names, and does not start where it cannot.
    {"/proc/self/task", READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE},
    {"/proc/driver", READ},
    {"/proc/sys", READ},
    {"/proc/cpuinfo", READ},
    {"/proc/devices", READ},
    {"/proc/filesystems", READ},
    {"/proc/meminfo", READ},
    {"/proc/modules", READ},
    {"/proc/stat", READ},
    {"/proc/version", READ},
    {"/dev/null", USE},
    {"/dev/zero", USE},
    {"/dev/random", READ},
    {"/dev/urandom", READ},
};

static struct place {
    int fd;
    int access;
    bool stays; // open
    struct stat status;
} places[PLACES_MAX];
static size_t place_count;

static void files_add_place(const char *path, int access)
{
    if (place_count == PLACES_MAX)
        return;
    struct place *place = &places[place_count];
    place->fd = open(path, O_PATH | O_CLOEXEC);
    // A missing file needs no rule.
    if (place->fd < 0)
        return;
    if (fstat(place->fd, &place->status)) {
        close(place->fd);
        return;
    }
    place->access = access;
    // The kernel drops entries of /proc that are not open, and their rules with them.
    place->stays = !strncmp(path, "/proc/", 6);
    place_count++;
}

static void add_directory_of(const char *file)
{
    char path[4096];
    char *real = realpath(file, path);
    char *slash = real ? strrchr(real, '/') : NULL;

    if (!slash || slash == real)
        return;
    *slash = '\0';
    files_add_place(real, READ);
}

static void add_library_path(void)
{
    const char *list = getenv("LD_LIBRARY_PATH");
    char *copy = list ? strdup(list) : NULL, *rest = NULL;

    for (char *path = copy ? strtok_r(copy, ":", &rest) : NULL; path;
         path = strtok_r(NULL, ":", &rest))
        if (*path == '/' && strspn(path, "/") < strlen(path))
            files_add_place(path, READ);
    free(copy);
}

// It has files in memory for what its threads and the network share, which it removes from the
// directory at once.
static void add_nccl(void)
{
    add_directory_of(command.nccl);
    files_add_place("/etc/nccl.conf", READ);
    files_add_place("/dev/shm", USE | LANDLOCK_MAKE_REGULAR | LANDLOCK_REMOVE_FILE);
}

void confine_files_open(void)
{
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        files_add_place(usual[i].path, usual[i].access);
    // A descriptor stands for a file in a directory that we cannot see.
    if (!strncmp(command.driver, "/proc/self/fd/", strlen("/proc/self/fd/")))
        files_add_place(command.driver, READ);
    else if (strchr(command.driver, '/'))
        add_directory_of(command.driver);
    if (strchr(command.cupti, '/'))
        add_directory_of(command.cupti);
    add_library_path();
    if (setup_has_nccl())
        add_nccl();
    if (setup_wants_transport("rdma"))
        files_add_place("/dev/infiniband", USE);
    for (unsigned i = 0; i < setup.nodes_count; i++)
        files_add_place(setup.nodes[i].path, USE);
}

static int add_rule(int ruleset, const struct place *place, uint64_t known)
{
    struct landlock_place rule = {.access = (uint64_t)place->access & known, .fd = place->fd};

    if (!S_ISDIR(place->status.st_mode))
        rule.access &= ~(uint64_t)LANDLOCK_READ_DIR;
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PLACE, &rule, 0) ? -errno : 0;
}

static int restrict_self(bool *restricted)
{
    struct landlock_rules rules;
    size_t size = landlock_rules_for(landlock_abi(), &rules);
    if (size && setup_has_nccl()) {
        rules.network = 0;
        rules.scopes &= ~(uint64_t)LANDLOCK_ABSTRACT_SOCKETS;
    }
    long ruleset = size ? syscall(SYS_landlock_create_ruleset, &rules, size, 0) : 0;
    int err = ruleset < 0 ? -errno : 0;

    if (!size || err)
        return err;
    for (size_t i = 0; i < place_count && !err; i++)
        err = add_rule((int)ruleset, &places[i], rules.files);
    if (!err && syscall(SYS_landlock_restrict_self, (int)ruleset, 0))
        err = -errno;
    close((int)ruleset);
    *restricted = !err;
    return err;
}

int confine_files(bool only_log, bool *restricted)
{
    *restricted = false;
    int err = only_log ? 0 : restrict_self(restricted);

    for (size_t i = 0; i < place_count; i++)
        if (!places[i].stays)
            close(places[i].fd);
    return err;
}

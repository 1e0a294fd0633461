// SPDX-License-Identifier: BSD-3-Clause
// A virtual machine has the window as the second BAR of an ivshmem device, which no driver of the
// guest uses; any process that may open the device's files can map it. The environment variable
// RGPU_VM_WINDOW overrides the search: `none`, or `unix:PATH` for the socket from which QEMU gets
// the window, if this process runs on the box's host.
#include "transport/vm/vm_window_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/net/fdpass.h"
#include "common/base/scope.h"

#define PCI_DEVICES "/sys/bus/pci/devices"

enum { DOORBELL_BAR = 4096, SOCKET_SECONDS = 5 };

static struct vm_window windows[VM_WINDOWS_MAX];
static size_t count;
static char problem[160];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Takes the window over if it is one; other software uses the same device for other things. 0 or
// -errno.
static int vm_window_probe_take(struct vm_window *window)
{
    struct vm_window_head head;
    struct stat status;
    void *mapped;

    if (fstat(window->memory, &status) || status.st_size < VM_WINDOW_HEAD)
        return -ENODEV;
    mapped = mmap(NULL, VM_WINDOW_HEAD, PROT_READ, MAP_SHARED, window->memory, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    memcpy(&head, mapped, sizeof(head));
    munmap(mapped, VM_WINDOW_HEAD);
    if (memcmp(head.magic, VM_WINDOW_MAGIC, sizeof(head.magic)) != 0 ||
        head.size > (uint64_t)status.st_size || strnlen(head.id, sizeof(head.id)) != 32)
        return -ENODEV;
    snprintf(window->id, sizeof(window->id), "%s", head.id);
    window->size = head.size;
    windows[count++] = *window;
    return 0;
}

static void vm_window_probe_note_problem(const char *where, const char *what, int err)
{
    snprintf(problem, sizeof(problem), "%s of %s: %s", what, where, strerror(-err));
}

// ---- in a virtual machine ----

// A host has hundreds of devices, and each process looks at all of them once: one file is opened
// and read of each.
static unsigned vm_window_probe_read_number(int devices, const char *device, const char *name)
{
    char path[NAME_MAX + 16], text[16] = "";

    snprintf(path, sizeof(path), "%s/%s", device, name);
    SCOPED_FD int fd = descriptor_own_briefly(openat(devices, path, O_RDONLY | O_CLOEXEC));
    return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? (unsigned)strtoul(text, NULL, 16) : 0;
}

static int open_bars(int device, struct vm_window *window)
{
    SCOPED_FD int doorbells = descriptor_own(openat(device, "resource0", O_RDWR | O_CLOEXEC));
    SCOPED_FD int memory = descriptor_own(openat(device, "resource2", O_RDWR | O_CLOEXEC));

    if (doorbells < 0 || memory < 0)
        return -errno;
    void *mapped = mmap(NULL, DOORBELL_BAR, PROT_READ | PROT_WRITE, MAP_SHARED, doorbells, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    window->doorbell = (volatile uint32_t *)((uint8_t *)mapped + VM_WINDOW_DOORBELL);
    window->memory = memory;
    int err = vm_window_probe_take(window);
    if (err)
        munmap(mapped, DOORBELL_BAR);
    else
        scoped_take_fd(&memory);
    return err;
}

static void vm_window_probe_look_at_device(int devices, const char *name)
{
    struct vm_window window = {.memory = -1};

    if (vm_window_probe_read_number(devices, name, "vendor") != VM_WINDOW_VENDOR ||
        vm_window_probe_read_number(devices, name, "device") != VM_WINDOW_DEVICE)
        return;
    SCOPED_FD int device =
        descriptor_own(openat(devices, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (device < 0)
        return;
    int err = open_bars(device, &window);
    if (err && err != -ENODEV)
        vm_window_probe_note_problem(name, "the memory of PCI device", err);
}

static void look_at_devices(void)
{
    DIR *devices = descriptor_open_directory(PCI_DEVICES);

    for (struct dirent *entry; devices && count < VM_WINDOWS_MAX && (entry = readdir(devices));)
        if (entry->d_name[0] != '.')
            vm_window_probe_look_at_device(dirfd(devices), entry->d_name);
    if (devices)
        closedir(devices);
}

// ---- on the box's host: the box's messages to QEMU ----

static int vm_window_probe_connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = SOCKET_SECONDS};
    SCOPED_FD int fd = descriptor_own(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
        sizeof(address.sun_path))
        return -ENAMETOOLONG;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)))
        return -errno;
    return scoped_take_fd(&fd);
}

// One number, and the descriptor that came with it or -1.
static int vm_window_probe_receive(int socket, int64_t *number, int *fd)
{
    size_t got = 1;
    ssize_t n = fdpass_receive(socket, number, sizeof(*number), fd, &got);

    if (!got)
        *fd = -1;
    if (n == (ssize_t)sizeof(*number))
        return 0;
    if (*fd >= 0)
        close(*fd);
    return n < 0 ? (int)n : -EPROTO;
}

// The protocol of ivshmem servers: version 0, our number, the memory with -1, and the doorbells of
// our peers.
static int receive_window(int socket, struct vm_window *window)
{
    int64_t number;
    int fd, err, doorbells = 0;

    for (int part = 0; doorbells < VM_WINDOW_SLOTS * VM_WINDOW_DOORBELLS; part++) {
        err = vm_window_probe_receive(socket, &number, &fd);
        if (err)
            return err;
        bool right = part == 0   ? number == 0 && fd < 0
                     : part == 1 ? number >= 0 && fd < 0
                     : part == 2 ? number == -1 && fd >= 0
                                 : number == 1 + doorbells && fd >= 0;
        if (!right) {
            if (fd >= 0)
                close(fd);
            return -EPROTO;
        }
        if (part == 2)
            window->memory = fd;
        if (part > 2)
            window->events[doorbells++] = fd;
    }
    return vm_window_probe_take(window);
}

static void look_at_socket(const char *path)
{
    struct vm_window window = {.memory = -1};
    int fd = vm_window_probe_connect_to(path);
    int err = fd < 0 ? fd : receive_window(fd, &window);

    // The connection stays open: its end shows the box that the machine is gone.
    if (!err)
        return;
    if (fd >= 0)
        close(fd);
    vm_window_probe_note_problem(path, "the window", err);
}

static void vm_window_probe_look(void)
{
    const char *where = secure_getenv("RGPU_VM_WINDOW");

    if (!where || !*where)
        look_at_devices();
    else if (!strncmp(where, "unix:", 5))
        look_at_socket(where + 5);
    else if (strcmp(where, "none") != 0)
        snprintf(problem, sizeof(problem), "RGPU_VM_WINDOW is not none or unix:PATH");
}

void vm_windows_ids(char *text, size_t room)
{
    size_t used = 0;

    pthread_once(&once, vm_window_probe_look);
    *text = '\0';
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "", windows[i].id);
}

const struct vm_window *vm_window_find(const char *id)
{
    pthread_once(&once, vm_window_probe_look);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(windows[i].id, id))
            return &windows[i];
    return NULL;
}

const char *vm_windows_problem(void)
{
    pthread_once(&once, vm_window_probe_look);
    return problem;
}

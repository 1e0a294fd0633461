// SPDX-License-Identifier: BSD-3-Clause
// The memory of a window is allocated in steps, so that the event loop is not blocked, and
// completely before a machine gets it: a lack of memory later would raise a signal in QEMU and in
// workers.
#include "daemon/rgpud/vm/vm_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/security/sha256.h"
#include "common/base/units.h"
#include "common/net/vm_window.h"
#include "daemon/rgpud/vm/vm_room.h"
#include "daemon/rgpud/vm/vm_server.h"
#include "proto/wire.h"

enum {
    NAME_MAX_CHARACTERS = 40,
    DOORBELLS = VM_WINDOW_SLOTS * VM_WINDOW_DOORBELLS,
    WINDOWS_MAX = 64,
    FILL_STEP = 16 << 20,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};
#define SIZE_LEAST (UINT64_C(32) << 20)
#define SIZE_MOST (UINT64_C(1) << 40)

enum window_state { WINDOW_FILLING, WINDOW_ATTACHED, WINDOW_DETACHED };
static const char *const state_names[] = {"filling", "attached", "detached"};

struct vm_attached {
    TAILQ_ENTRY(vm_attached) link;
    struct box *box;
    enum window_state state;
    char name[NAME_MAX_CHARACTERS + 1];
    char id[VM_WINDOW_ID_TEXT];
    struct endpoint socket;
    uid_t user; // may connect, as may root and the daemon's own user
    int memory;
    uint64_t filled;
    struct event *filling;
    int doorbells[DOORBELLS];
    pid_t slots[VM_WINDOW_SLOTS]; // process ids of workers; 0: free
    struct vm_room room;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the machine, as its last client sent it
    struct vm_server *server;
};

// ---- making and removing windows ----

static void window_free(struct vm_attached *window)
{
    TAILQ_REMOVE(&window->box->windows, window, link);
    vm_server_close(&window->server);
    for (int i = 0; i < DOORBELLS; i++)
        if (window->doorbells[i] >= 0)
            close(window->doorbells[i]);
    if (window->memory >= 0)
        close(window->memory);
    if (window->filling)
        event_free(window->filling);
    vm_room_free(&window->room);
    free(window);
}

static unsigned sessions_in(const struct vm_attached *window)
{
    unsigned count = 0;

    for (int i = 0; i < VM_WINDOW_SLOTS; i++)
        count += window->slots[i] != 0;
    return count;
}

// Ends the window's sessions. If BOOT_ID is not NULL, spares sessions of clients with that boot id.
static void vm_windows_end_sessions(struct vm_attached *window, const uint8_t *boot_id,
                                    enum control_end_reason reason, const char *text)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &window->box->workers, link) {
        const uint8_t *theirs = worker->session.client_boot_id;
        if (worker->window == window && worker->state != WORKER_ENDING &&
            !(boot_id && !memcmp(theirs, boot_id, CONTROL_BOOT_ID_BYTES)))
            worker_end(worker, reason, text);
    }
}

static void machine_left(void *argument)
{
    struct vm_attached *window = argument;

    log_info("the virtual machine has left its window name=%s sessions=%u", window->name,
             sessions_in(window));
    vm_windows_end_sessions(window, NULL, CONTROL_END_REASON_CLIENT_LEFT,
                            "its virtual machine is gone");
}

static int write_head(const struct vm_attached *window)
{
    struct vm_window_head head = {.size = window->room.size};

    memcpy(head.magic, VM_WINDOW_MAGIC, sizeof(head.magic));
    memcpy(head.id, window->id, sizeof(head.id));
    return pwrite(window->memory, &head, sizeof(head), 0) == (ssize_t)sizeof(head) ? 0 : -EIO;
}

static int make_doorbells(struct vm_attached *window)
{
    for (int i = 0; i < DOORBELLS; i++) {
        window->doorbells[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (window->doorbells[i] < 0)
            return -errno;
    }
    return 0;
}

// Any user may reach the socket; the kernel reports the user that connects.
static int open_server(struct vm_attached *window)
{
    const struct vm_server_window shown = {.memory = window->memory,
                                           .doorbells = window->doorbells,
                                           .doorbell_count = DOORBELLS,
                                           .user = window->user,
                                           .machine_left = machine_left,
                                           .argument = window};
    uint16_t port = 0;
    mode_t mask = umask(0);
    int listener = endpoint_listen(&window->socket, 8, &port);

    umask(mask);
    return listener < 0 ? listener
                        : vm_server_open(window->box->base, listener, &shown, &window->server);
}

static int show_window(struct vm_attached *window)
{
    int err = write_head(window);

    if (!err)
        err = open_server(window);
    if (err)
        return err;
    window->state = WINDOW_ATTACHED;
    log_info("window attached name=%s size=%llu user=%u socket=%s", window->name,
             (unsigned long long)window->room.size, (unsigned)window->user, window->socket.host);
    return 0;
}

static void fill_more(evutil_socket_t fd, short events, void *argument)
{
    struct vm_attached *window = argument;
    uint64_t left = window->room.size - window->filled, step = left < FILL_STEP ? left : FILL_STEP;
    int err = posix_fallocate(window->memory, (off_t)window->filled, (off_t)step);

    window->filled += step;
    if (!err && window->filled < window->room.size) {
        event_active(window->filling, 0, 0);
        return;
    }
    err = err ? -err : show_window(window);
    if (!err)
        return;
    log_error("the window cannot be made name=%s size=%llu error=\"%s\"", window->name,
              (unsigned long long)window->room.size, strerror(-err));
    window_free(window);
}

static int vm_windows_make_memory(struct vm_attached *window)
{
    window->memory = memfd_create("rgpu-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (window->memory < 0 || ftruncate(window->memory, (off_t)window->room.size) ||
        fcntl(window->memory, F_ADD_SEALS, SEALS))
        return -errno;
    return 0;
}

static int make_window(struct vm_attached *window)
{
    uint8_t random[16];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    hex_encode(random, sizeof(random), window->id);
    int err = vm_windows_make_memory(window);
    if (!err)
        err = make_doorbells(window);
    if (err)
        return err;
    window->filling = event_new(window->box->base, -1, 0, fill_more, window);
    if (!window->filling)
        return -ENOMEM;
    event_active(window->filling, 0, 0);
    return 0;
}

// ---- orders ----

static struct vm_attached *find_name(struct box *box, const char *name)
{
    struct vm_attached *window;

    TAILQ_FOREACH(window, &box->windows, link)
        if (!strcmp(window->name, name) && window->state != WINDOW_DETACHED)
            return window;
    return NULL;
}

static bool name_is_valid(const char *name)
{
    size_t length = strlen(name);

    return length && length <= NAME_MAX_CHARACTERS &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               length;
}

static int count_windows(struct box *box)
{
    struct vm_attached *window;
    int count = 0;

    TAILQ_FOREACH(window, &box->windows, link)
        count++;
    return count;
}

struct order {
    char name[64];
    uint64_t size;
    uid_t user;
};

static int read_order(const char *text, struct order *order, char *wrong, size_t room)
{
    char size[32];
    unsigned user = 0;
    int words = sscanf(text, "%63s %31s %u", order->name, size, &user);

    order->user = user;
    if (words < 2 || !name_is_valid(order->name))
        snprintf(wrong, room,
                 "a name of at most %d letters, digits, '.', '_', '-' is needed, and a size",
                 NAME_MAX_CHARACTERS);
    else if (units_parse_size(size, &order->size) || order->size < SIZE_LEAST ||
             order->size > SIZE_MOST || (order->size & (order->size - 1)))
        snprintf(wrong, room,
                 "size %s is not a power of two from 32M to 1T, as memory of a PCI device is",
                 size);
    else
        return 0;
    return -EINVAL;
}

static int check_order(struct box *box, const struct order *order, struct endpoint *socket,
                       char *wrong, size_t room)
{
    char path[ENDPOINT_TEXT_MAX];

    if (!box->has_client_sockets) {
        snprintf(wrong, room,
                 "there is no directory for the socket: client_sockets is not set, or "
                 "cannot be used (see the log)");
        return -ENOTDIR;
    }
    snprintf(path, sizeof(path), "unix:%s/vm-%s", box->settings.client_sockets, order->name);
    if (find_name(box, order->name)) {
        snprintf(wrong, room, "%s is attached", order->name);
        return -EEXIST;
    }
    if (count_windows(box) == WINDOWS_MAX) {
        snprintf(wrong, room, "there are %d windows already", WINDOWS_MAX);
        return -ENOSPC;
    }
    if (endpoint_parse(path, 0, socket)) {
        snprintf(wrong, room, "%s is too long for a socket", path);
        return -ENAMETOOLONG;
    }
    return 0;
}

int vm_windows_attach(struct box *box, const char *order_text, char *text, size_t room)
{
    struct endpoint socket;
    struct order order;
    int err = read_order(order_text, &order, text, room);

    if (!err)
        err = check_order(box, &order, &socket, text, room);
    if (err)
        return err;
    struct vm_attached *window = calloc(1, sizeof(*window));
    if (!window)
        return -ENOMEM;
    window->box = box;
    window->socket = socket;
    window->user = order.user;
    window->memory = -1;
    window->room.size = order.size;
    memcpy(window->name, order.name, sizeof(window->name) - 1);
    memset(window->doorbells, -1, sizeof(window->doorbells));
    TAILQ_INSERT_TAIL(&box->windows, window, link);
    err = make_window(window);
    if (err) {
        snprintf(text, room, "the window cannot be made: %s", strerror(-err));
        window_free(window);
    }
    return err;
}

// Removes a window. Memory that machines and workers still map is freed when they unmap it.
int vm_windows_detach(struct box *box, const char *name)
{
    static const struct vm_window_head nothing;
    struct vm_attached *window = find_name(box, name);

    if (!window)
        return -ENOENT;
    log_info("window detached name=%s sessions=%u", name, sessions_in(window));
    if (pwrite(window->memory, &nothing, sizeof(nothing), 0) < 0)
        log_debug("the head of the window stays");
    if (window->state == WINDOW_ATTACHED)
        unlink(window->socket.host);
    window->state = WINDOW_DETACHED;
    vm_server_close(&window->server);
    vm_windows_end_sessions(window, NULL, CONTROL_END_REASON_REVOKED,
                            "the window into its virtual machine was detached");
    if (!sessions_in(window))
        window_free(window);
    return 0;
}

json_t *vm_windows_row(struct box *box, unsigned index, const char *name)
{
    struct vm_attached *window;

    TAILQ_FOREACH(window, &box->windows, link)
        if ((!name || !strcmp(name, window->name)) && !index--)
            return json_pack("{s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "name", window->name,
                             "state", state_names[window->state], "socket", window->socket.host,
                             "size", (json_int_t)window->room.size, "taken",
                             (json_int_t)vm_room_taken(&window->room), "user", (int)window->user,
                             "machines",
                             window->server ? (int)vm_server_machines(window->server) : 0,
                             "sessions", (int)sessions_in(window));
    return NULL;
}

void vm_windows_close_all(struct box *box)
{
    while (!TAILQ_EMPTY(&box->windows)) {
        struct vm_attached *window = TAILQ_FIRST(&box->windows);
        if (window->state == WINDOW_ATTACHED)
            unlink(window->socket.host);
        window_free(window);
    }
}

// ---- sessions ----

// IDS are the window ids of the client's machine, separated by commas.
static struct vm_attached *find_id(struct box *box, const char *ids)
{
    struct vm_attached *window;

    TAILQ_FOREACH(window, &box->windows, link)
        if (window->state == WINDOW_ATTACHED && strstr(ids, window->id))
            return window;
    return NULL;
}

static bool may_use(const struct control_grant *grant)
{
    for (uint32_t i = 0; i < grant->transports_count; i++)
        if (!strcmp(grant->transports[i].name, "vm"))
            return true;
    return false;
}

// Ends sessions from an earlier boot of the machine, since their client processes are gone. A
// client that cannot read the boot id, for example in a container that hides it, sends zeros; these
// end nothing.
static void note_boot(struct vm_attached *window, const uint8_t *boot_id)
{
    static const uint8_t unknown[sizeof(window->boot_id)];

    if (!memcmp(window->boot_id, boot_id, sizeof(window->boot_id)) ||
        !memcmp(boot_id, unknown, sizeof(unknown)))
        return;
    if (memcmp(window->boot_id, unknown, sizeof(unknown)) != 0)
        vm_windows_end_sessions(window, boot_id, CONTROL_END_REASON_CLIENT_LEFT,
                                "its virtual machine has started anew");
    memcpy(window->boot_id, boot_id, sizeof(window->boot_id));
}

static int vm_windows_free_slot(const struct vm_attached *window)
{
    for (int i = 0; i < VM_WINDOW_SLOTS; i++)
        if (!window->slots[i])
            return i;
    return -1;
}

void vm_windows_join(struct worker_process *worker, const struct control_hello *hello,
                     struct control_grant *grant, int *fds, size_t *count)
{
    const struct box_settings *settings = &worker->box->settings;
    uint64_t block = settings->worker.block_size ? (uint64_t)settings->worker.block_size
                                                 : WIRE_BLOCK_SIZE;
    uint64_t size = vm_window_session(block, (uint64_t)settings->worker.block_count);
    struct vm_attached *window = may_use(grant) ? find_id(worker->box, hello->windows) : NULL;

    grant->window_id[0] = '\0';
    if (!window)
        return;
    note_boot(window, hello->boot_id);
    snprintf(grant->window_id, sizeof(grant->window_id), "%s", window->id);
    int slot = vm_windows_free_slot(window);
    grant->window_place = slot < 0 ? 0 : vm_room_take(&window->room, size, worker->pid);
    grant->window_room = grant->window_place ? size : 0;
    // If the window is full, the client learns that and ignores the doorbells.
    grant->window_slot = slot < 0 ? 0 : (uint32_t)slot;
    if (grant->window_room) {
        window->slots[slot] = worker->pid;
        worker->window = window;
    } else {
        log_warn("the window is full name=%s taken=%llu sessions=%u", window->name,
                 (unsigned long long)vm_room_taken(&window->room), sessions_in(window));
    }
    fds[(*count)++] = window->memory;
    for (int i = 0; i < VM_WINDOW_DOORBELLS; i++)
        fds[(*count)++] = window->doorbells[grant->window_slot * VM_WINDOW_DOORBELLS + (unsigned)i];
}

void vm_windows_leave(struct worker_process *worker)
{
    struct vm_attached *window = worker->window;

    if (!window)
        return;
    worker->window = NULL;
    vm_room_give_all(&window->room, worker->pid);
    for (int i = 0; i < VM_WINDOW_SLOTS; i++)
        if (window->slots[i] == worker->pid)
            window->slots[i] = 0;
    if (window->state == WINDOW_DETACHED && !sessions_in(window))
        window_free(window);
}

int vm_windows_take(struct worker_process *worker, const struct control_window_take *take)
{
    struct control_window_taken taken = {.request = take->request};
    struct vm_attached *window = worker->window;

    if (!window)
        return -EPROTO;
    if (window->state == WINDOW_ATTACHED)
        taken.place = vm_room_take(&window->room, take->size, worker->pid);
    taken.size = taken.place ? take->size : 0;
    return control_send_packet(worker->control_fd, CONTROL_WINDOW_TAKEN, &taken, -1);
}

int vm_windows_give(struct worker_process *worker, const struct control_window_give *give)
{
    if (!worker->window || vm_room_give(&worker->window->room, give->place, worker->pid))
        return -EPROTO;
    return 0;
}

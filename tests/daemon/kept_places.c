// SPDX-License-Identifier: BSD-3-Clause
// The supervisor keeps the workers' reports on the paths of copies for each client host. Their
// number is bounded, and invalid reports are dropped.
#include "daemon/rgpud/workers/kept_paths.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/path_table.h"
#include "proto/wire.h"
#include "tests/tap.h"

static struct box box;
static struct box_device gpu = {.uuid = "GPU-1"};
static struct worker_process worker = {.box = &box};
static struct path_row row = {
    .use = PATH_TO, .size = 12, .chosen = PATH_STAGED, .ns = {9000, 5000}};

static int say(const char *peer, const char *transport, const void *rows, uint32_t size)
{
    struct control_paths message = {.rows = rows, .rows_size = size};

    snprintf(message.transport, sizeof(message.transport), "%.15s", transport);
    snprintf(worker.session.peer, sizeof(worker.session.peer), "%s", peer);
    return kept_paths_take(&worker, &message);
}

static struct control_grant grant;

// Returns the number of rows that the next client from PEER receives.
static unsigned given(const char *peer)
{
    kept_paths_give(&box, peer, &worker.session.grant, &grant);
    return (unsigned)((grant.paths_size - sizeof(struct wire_paths)) / sizeof(struct path_kept));
}

static void own_host_only(void)
{
    struct path_kept kept;

    is_int(given("10.0.0.1:50000"), 0, "nothing is known at first");
    is_int(say("10.0.0.1:40000", "tcp", &row, sizeof(row)), 0, "a row is taken");
    is_int(given("10.0.0.1:50000"), 1, "and given to the next client from there");
    memcpy(&kept, grant.paths + sizeof(struct wire_paths), sizeof(kept));
    is_str(kept.transport, "tcp", "with its transport");
    is_mem(&kept.row, &row, sizeof(row), "as it was");
    is_int(given("10.0.0.2:50000"), 0, "but not to another host");
    is_int(given("10.0.0.11:50000"), 0, "whose address begins alike");
    is_int(given("[fd00::1]:50000"), 0, "or is of another kind");
    say("[fd00::1]:40000", "tcp", &row, sizeof(row));
    is_int(given("[fd00::1]:50001"), 1, "which has its own");
    gpu = (struct box_device){.uuid = "GPU-2"};
    is_int(given("10.0.0.1:50000"), 0, "of another GPU nothing is known");
    gpu = (struct box_device){.uuid = "GPU-1"};
}

static void wrong_words(void)
{
    struct path_row wrong = row;

    wrong.use = 200;
    is_int(say("10.0.0.3:1", "tcp", &wrong, sizeof(wrong)), 0, "a row that cannot be");
    is_int(given("10.0.0.3:1"), 0, "is not kept");
    is_int(say("10.0.0.3:1", "tcp", &row, sizeof(row) - 1), -EPROTO, "nor is half a row");
    is_int(say("10.0.0.3:1", "", &row, sizeof(row)), -EPROTO, "nor one without a transport");
    is_int(say("10.0.0.3:1", "a b", &row, sizeof(row)), -EPROTO, "nor one with a space in it");
    is_int(say("10.0.0.3:1", "a\nb", &row, sizeof(row)), -EPROTO, "nor a line's end");
    worker.session.id = 0;
    is_int(say("10.0.0.3:1", "tcp", &row, sizeof(row)), -EPROTO, "nor one of no session");
    worker.session.id = 1;
}

static int say_of_box(const char *other, const struct path_row *what)
{
    struct control_paths message = {.rows = (const void *)what, .rows_size = sizeof(*what)};

    strcpy(message.transport, "rdma");
    snprintf(message.other, sizeof(message.other), "%s", other);
    strcpy(worker.session.peer, "10.0.0.5:1");
    return kept_paths_take(&worker, &message);
}

// Returns the number of rows that a worker linked with the box at OTHER receives.
static unsigned known_of(const char *other, const char *transport)
{
    static struct control_frame frame;
    struct control_paths_ask ask = {.request = 7};
    struct control_paths_known known;
    int ends[2], none = -1;

    snprintf(ask.other, sizeof(ask.other), "%s", other);
    snprintf(ask.transport, sizeof(ask.transport), "%s", transport);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        bail("socketpair");
    worker.control_fd = ends[0];
    if (kept_paths_asked(&worker, &ask) || control_receive_packet(ends[1], &frame, &none) ||
        control_decode(&frame, CONTROL_PATHS_KNOWN, &known) || known.request != 7)
        bail("no answer");
    close(ends[0]);
    close(ends[1]);
    return known.rows_size / (unsigned)sizeof(struct path_row);
}

static void other_boxes(void)
{
    const struct path_row between = {.use = PATH_TO_BOX,
                                     .size = 18,
                                     .chosen = PATH_DIRECT_TARGET,
                                     .ns = {0, 9, 0, 0, 8, 0, 0, 7, 6}};

    is_int(known_of("10.0.0.6", "rdma"), 0, "of a box nothing is known at first");
    is_int(say_of_box("10.0.0.6", &between), 0, "a row of copies to it is taken");
    is_int(known_of("10.0.0.6", "rdma"), 1, "and given to whoever is linked with it");
    is_int(known_of("10.0.0.6", "shm"), 0, "over that transport");
    is_int(known_of("10.0.0.7", "rdma"), 0, "and not with another one");
    is_int(given("10.0.0.6:1"), 0, "and clients of its host do not get it");
    is_int(say_of_box("10.0.0.6", &row), 0, "a row of a client's copies");
    is_int(given("10.0.0.6:1"), 0, "is not taken for another host than its own");
    is_int(say("10.0.0.6:1", "rdma", &between, sizeof(between)), 0, "nor one of another box's");
    is_int(known_of("10.0.0.6", "rdma"), 1, "for the client's");
    is_int(say_of_box("10.0.0.6\n", &between), -EPROTO, "nor a line's end for an address");
    worker.session.id = 0;
    is_int(kept_paths_asked(&worker, &(struct control_paths_ask){.request = 1}), -EPROTO,
           "nor is one answered who has no session");
    worker.session.id = 1;
}

static unsigned shown;

static void count(struct evbuffer *out, json_t *line)
{
    shown += json_object_size(line) > 0;
    json_decref(line);
}

static unsigned all(void)
{
    shown = 0;
    kept_paths_show(&box, count, NULL);
    return shown;
}

static void bounds(void)
{
    char text[32];

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "t%u", i);
        say("10.0.0.4:1", text, &row, sizeof(row));
    }
    is_int(given("10.0.0.4:1"), 64, "a host that says much pushes out what it said itself");
    is_int(given("10.0.0.1:1"), 1, "and nothing of others");
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "10.1.%u.%u:1", i / 200, i % 200);
        say(text, "tcp", &row, sizeof(row));
    }
    is_int(all(), 512, "there is a bound on all of it");
    is_int(given("10.1.9.199:1"), 1, "the newest are there");
    is_int(given("10.1.0.0:1"), 0, "and the oldest are not");
}

int main(void)
{
    char directory[] = "/tmp/rgpu-kept.XXXXXX";

    if (!mkdtemp(directory))
        bail("no directory");
    box.base = event_base_new();
    box.settings.state_dir = directory;
    box.settings.paths = "auto";
    worker.session.id = 1;
    worker.session.grant.device_count = 1;
    worker.session.grant.devices[0] = &gpu;
    if (!box.base || kept_paths_open(&box))
        bail("it does not open");
    own_host_only();
    wrong_words();
    other_boxes();
    bounds();
    kept_paths_close(&box);
    is_int(kept_paths_open(&box), 0, "the file is read again");
    is_int(all(), 512, "with all that was there");
    is_int(given("10.1.9.199:1"), 1, "of each host");
    kept_paths_close(&box);
    event_base_free(box.base);
    char path[64];
    snprintf(path, sizeof(path), "%s/paths", directory);
    is_int(remove(path), 0, "nothing else is left");
    is_int(remove(directory), 0, "in the directory");
    return done();
}

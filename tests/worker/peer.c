// SPDX-License-Identifier: BSD-3-Clause
// See peer.h.
#include "common/service/config.h"
#include "common/base/clock.h"
#include "common/net/control_stream.h"
#include "tests/worker/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/spawn.h"
#include "common/net/worker_socket.h"
#include "transport/link/transport.h"

enum { TIMEOUT_MS = 60000 };

static const char *build_path(const char *name)
{
    static char path[2][4096];
    static unsigned next;
    const char *build = getenv("BUILD");

    next = !next;
    snprintf(path[next], sizeof(path[next]), "%s/%s", build ? build : "build", name);
    return path[next];
}

// A connected pair of TCP sockets, as a client and a box have one.
static void tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || ends[0] < 0 || bind(listener, (void *)&address, size) ||
        listen(listener, 1) || getsockname(listener, (void *)&address, &size) ||
        connect(ends[0], (void *)&address, size))
        bail("no loopback connection: %s", strerror(errno));
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
}

static const struct config_option settings_table[] = {
    CONTROL_WORKER_SETTINGS_ROWS(struct control_setup, worker), CONFIG_END};

// Sends rgpud's default setup of a worker without further confinement.
static void send_setup(int control)
{
    static struct control_setup setup = {.list = CONTROL_DIGEST, .measures_context = 1};

    if (config_defaults(settings_table, &setup))
        bail("no default settings");
    if (worker_socket_name(setup.client_socket))
        bail("no name for the worker's socket");
    setup.worker.worker_memory = 0;
    if (control_send_packet(control, CONTROL_SETUP, &setup, -1))
        bail("the setup is not taken");
}

static void spawn_worker(struct peer *peer, const struct peer_options *options)
{
    char count[16], name[] = "rgpu-worker", driver[4096], none[] = "", refuse[] = "refuse";
    char *arguments[] = {name, driver, none, none, refuse, NULL};
    int control[2];

    snprintf(driver, sizeof(driver), "%s", build_path("lib/libcuda-sim.so"));
    snprintf(count, sizeof(count), "%u", options->devices ? options->devices : 1);
    setenv("RGPU_SIM_DEVICES", count, 1);
    setenv("RGPU_SIM_MEMORY", options->memory ? options->memory : "1G", 1);
    setenv("RGPU_SIM_STATE", "fd:4", 1);
    int state = memfd_create("rgpu-sim", MFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control))
        bail("no socket pair");
    struct spawn_request request = {
        .program = build_path("bin/rgpu-worker"),
        .arguments = arguments,
        .fds = (int[]){-1, STDERR_FILENO, STDERR_FILENO, control[1], state},
        .fd_count = 5,
    };
    send_setup(control[0]);
    if (spawn_program(&request, &peer->pid))
        bail("%s does not start", request.program);
    close(control[1]);
    close(state);
    peer->control = control[0];
}

static void await_ready(struct peer *peer)
{
    struct control_frame frame = {0};
    int passed;

    if (control_receive_packet(peer->control, &frame, &passed) ||
        control_decode(&frame, CONTROL_READY, &peer->ready))
        bail("the worker does not become ready");
    control_frame_free(&frame);
}

static void grant(struct peer *peer, const struct peer_options *options, int worker_end)
{
    static struct control_grant grant;

    memset(&grant, 0, sizeof(grant));
    grant.session = 7;
    grant.version = 1;
    for (const struct transport *const *row = transports; *row; row++)
        snprintf(grant.transports[grant.transports_count++].name, sizeof(grant.transports[0].name),
                 "%s", (*row)->name);
    control_boot_id(grant.client_boot_id);
    snprintf(grant.client, sizeof(grant.client), "test");
    grant.devices_count = options->devices ? options->devices : 1;
    for (unsigned i = 0; i < grant.devices_count; i++)
        grant.devices[i] = (struct control_granted_device){.ordinal = i, .budget = options->budget};
    if (control_send_packet(peer->control, CONTROL_GRANT, &grant, worker_end))
        bail("the grant is not taken");
    close(worker_end);
}

static void take_welcome(struct peer *peer)
{
    struct control_stream stream = {.fd = peer->client};

    if (control_receive(&stream, &peer->welcome_frame, clock_ms() + TIMEOUT_MS) ||
        control_decode(&peer->welcome_frame, CONTROL_WELCOME, &peer->welcome) ||
        peer->welcome.snapshot_size < sizeof(*peer->snapshot))
        bail("no welcome");
    // The view need not be aligned.
    void *snapshot = malloc(peer->welcome.snapshot_size);
    memcpy(snapshot, peer->welcome.snapshot, peer->welcome.snapshot_size);
    peer->snapshot = snapshot;
    peer->devices = (const void *)(peer->snapshot + 1);
}

static void connect_link(struct peer *peer, const char *transport, struct control_stream *stream)
{
    const struct transport *row = transport_named(transport);
    struct transport_client side = {
        .box = "test", .boot_id = peer->welcome.boot_id, .forced = true, .stream = stream};
    char text[256] = "";

    for (uint32_t i = 0; i < peer->welcome.offers_count; i++)
        if (!strcmp(peer->welcome.offers[i].transport, transport))
            side.offer = &peer->welcome.offers[i];
    if (!row || !side.offer || row->connect(&side, &peer->link, text, sizeof(text)))
        bail("no link over %s: %s", transport, text);
}

static void open_link(struct peer *peer, const char *transport)
{
    struct control_transport_proposal proposal = {.reason = "test"};
    struct control_transport_reply reply;
    struct control_frame frame = {0};
    struct control_stream stream = {.fd = peer->client};
    int64_t deadline = clock_ms() + TIMEOUT_MS;

    snprintf(proposal.transport, sizeof(proposal.transport), "%s", transport);
    if (control_send(&stream, CONTROL_TRANSPORT_PROPOSAL, &proposal, deadline) ||
        control_receive(&stream, &frame, deadline) ||
        control_decode(&frame, CONTROL_TRANSPORT_REPLY, &reply) || !reply.accepted)
        bail("the transport is not accepted");
    control_frame_free(&frame);
    connect_link(peer, transport, &stream);
}

void peer_start(struct peer *peer, const struct peer_options *options)
{
    int ends[2];

    memset(peer, 0, sizeof(*peer));
    signal(SIGPIPE, SIG_IGN);
    spawn_worker(peer, options);
    await_ready(peer);
    tcp_pair(ends);
    peer->client = ends[0];
    grant(peer, options, ends[1]);
    take_welcome(peer);
    const struct control_pause pause = {.number = options->pause};
    if (pause.number && control_send_packet(peer->control, CONTROL_PAUSE, &pause, -1))
        bail("the order is not taken");
    open_link(peer, options->transport ? options->transport : "tcp");
    peer->handles = handle_table_new(1);
}

static void reap(struct peer *peer)
{
    if (waitpid(peer->pid, NULL, 0) != peer->pid)
        bail("the worker cannot be waited for");
    link_shutdown(peer->link);
    link_free(&peer->link);
    close(peer->control);
    handle_table_free(&peer->handles);
    control_frame_free(&peer->welcome_frame);
    free((void *)(uintptr_t)peer->snapshot);
}

void peer_stop(struct peer *peer)
{
    link_shutdown(peer->link);
    shutdown(peer->client, SHUT_RDWR);
    reap(peer);
}

void peer_await_end(struct peer *peer, struct control_ended *ended)
{
    struct control_frame frame = {0};
    int passed;

    memset(ended, 0, sizeof(*ended));
    while (!control_receive_packet(peer->control, &frame, &passed))
        if (frame.header.type == CONTROL_ENDED)
            break;
    if (control_decode(&frame, CONTROL_ENDED, ended))
        snprintf(ended->text, sizeof(ended->text), "(the worker did not say)");
    control_frame_free(&frame);
    reap(peer);
}

uint64_t peer_mint(struct peer *peer, enum handle_kind kind)
{
    static int anything;

    return handle_mint(peer->handles, kind, &anything);
}

// ---- requests ----

static void send_record(struct peer *peer, unsigned op, uint32_t call, const void *args,
                        size_t size, const void *tail, size_t tail_size)
{
    uint32_t whole = (uint32_t)(sizeof(struct wire_request) + size + ((tail_size + 7) & ~7u));
    struct wire_request *request = link_reserve(peer->link, whole);

    if (!request)
        return;
    memset(request, 0, whole);
    *request = (struct wire_request){
        .size = whole, .op = (uint16_t)op, .call = call, .context = peer->context};
    memcpy(request + 1, args, size);
    if (tail_size)
        memcpy((uint8_t *)(request + 1) + size, tail, tail_size);
    link_commit(peer->link);
    link_flush(peer->link);
}

void peer_post(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
               size_t tail_size)
{
    send_record(peer, op, 0, args, size, tail, tail_size);
}

uint32_t peer_send(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
                   size_t tail_size)
{
    uint32_t call = ++peer->next_call;

    send_record(peer, op, call, args, size, tail, tail_size);
    return call;
}

// ---- events ----

static void take_data(struct peer *peer, const struct wire_data *data)
{
    struct peer_job *job = &peer->jobs[data->job % PEER_JOBS];

    if (!job->data || data->offset + data->size > job->size)
        bail("data that nobody asked for: job=%u", data->job);
    if (link_receive_bulk(peer->link, job->data + data->offset, data->size))
        bail("a payload is missing");
    job->received += data->size;
}

static void take_event(struct peer *peer, const struct wire_event *event)
{
    const void *body = event + 1;

    switch ((enum wire_event_kind)event->kind) {
    case EVENT_REPLY: return;
    case EVENT_DATA: take_data(peer, body); return;
    case EVENT_CREDIT: peer->credits += ((const struct wire_credit *)body)->blocks; return;
    case EVENT_WANTED: bail("data was wanted that is not there");
    case EVENT_PULLED: {
        const struct wire_job_end *end = body;
        peer->jobs[end->job % PEER_JOBS].ended = true;
        peer->jobs[end->job % PEER_JOBS].result = end->result;
        return;
    }
    case EVENT_HOST_FUNCTION:
        peer->host_calls[peer->host_call_count++ % PEER_HOST_CALLS] =
            ((const struct wire_host_function *)body)->token;
        return;
    case EVENT_PRINT:
        memcpy(peer->text + peer->text_size, body, event->bytes);
        peer->text_size += event->bytes;
        peer->text[peer->text_size] = '\0';
        return;
    case EVENT_PULLED_SMALL: bail("a small copy came that nobody asked for");
    case EVENT_PEER_FRAME:
    case EVENT_PEER_OVER:
    case EVENT_GRAPH_WANTED:
    case EVENT_GRAPH_DATA:
    case EVENT_GRAPH_BLOCK:
    case EVENT_GRAPH_GONE: bail("a graph called that nobody made");
    case EVENT_REACHED: bail("an event was reached that nobody watches");
    case EVENT_ENDING:
        snprintf(peer->ending, sizeof(peer->ending), "%s", (const char *)body);
        return;
    }
    bail("event of kind %u", event->kind);
}

static const struct wire_event *next_event(struct peer *peer, int timeout_ms)
{
    int size = link_receive(peer->link, peer->record, sizeof(peer->record), timeout_ms);

    if (size < 0)
        bail("the link is down: %s", link_error(peer->link));
    if (size == 0)
        return NULL;
    take_event(peer, (const void *)peer->record);
    return (const void *)peer->record;
}

bool peer_take_event(struct peer *peer, int timeout_ms)
{
    return next_event(peer, timeout_ms);
}

CUresult peer_await(struct peer *peer, uint32_t call, void *reply, size_t reply_size, void *bytes,
                    size_t room, uint32_t *used)
{
    const struct wire_event *event;

    do {
        event = next_event(peer, TIMEOUT_MS);
        if (!event)
            bail("no reply");
    } while (event->kind != EVENT_REPLY);
    if (event->call != call)
        bail("reply to call %u, not %u", event->call, call);
    if (event->deferred)
        peer->deferred = (CUresult)event->deferred;
    const uint8_t *body = (const uint8_t *)(event + 1);
    size_t fixed = event->result ? 0 : reply_size;
    if (fixed)
        memcpy(reply, body, fixed);
    if (bytes)
        memcpy(bytes, body + fixed, event->bytes < room ? event->bytes : room);
    if (used)
        *used = event->bytes;
    return (CUresult)event->result;
}

CUresult peer_ask(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
                  size_t tail_size, void *reply, size_t reply_size, void *bytes, size_t room,
                  uint32_t *used)
{
    uint32_t call = peer_send(peer, op, args, size, tail, tail_size);

    return peer_await(peer, call, reply, reply_size, bytes, room, used);
}

// ---- common steps ----

void peer_retain(struct peer *peer, int device)
{
    uint64_t context = peer_mint(peer, HANDLE_CONTEXT);

    peer->context = 0;
    if (ASK(peer, cuDevicePrimaryCtxRetain, .pctx = context, .dev = device))
        bail("no primary context");
    peer->context = context;
}

CUdeviceptr peer_alloc(struct peer *peer, size_t size)
{
    struct reply_cuMemAlloc_v2 reply;

    if (ASK_REPLY(peer, cuMemAlloc_v2, &reply, .bytesize = size))
        bail("no %zu bytes of device memory", size);
    return reply.dptr;
}

uint64_t peer_stream(struct peer *peer)
{
    uint64_t stream = peer_mint(peer, HANDLE_STREAM);

    POST(peer, cuStreamCreate, .phStream = stream, .Flags = CU_STREAM_NON_BLOCKING);
    return stream;
}

uint64_t peer_module(struct peer *peer, const char *ptx)
{
    static uint32_t image;
    uint64_t module = peer_mint(peer, HANDLE_MODULE);
    size_t size = strlen(ptx) + 1;

    POST(peer, image_begin, .image = ++image, .size = size);
    POST_TAIL(peer, image_data, ptx, size, .image = image, .bytes = (uint32_t)size);
    CUresult result = ASK(peer, module_load, .module = module, .image = image);
    POST(peer, image_free, .image = image);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return 0;
    if (result)
        bail("the module does not load: %d", result);
    return module;
}

uint64_t peer_function(struct peer *peer, uint64_t module, const char *name)
{
    uint64_t function = peer_mint(peer, HANDLE_FUNCTION);
    struct args_cuModuleGetFunction args = {.hfunc = function,
                                            .hmod = module,
                                            .name_length = (uint32_t)strlen(name) + 1};

    if (peer_ask(peer, OP_cuModuleGetFunction, &args, sizeof(args), name, args.name_length, NULL, 0,
                 NULL, 0, NULL))
        bail("no function %s", name);
    return function;
}

void peer_push_blocks(struct peer *peer, uint32_t job, const void *data, size_t size)
{
    for (size_t offset = 0; offset < size; offset += WIRE_BLOCK_SIZE) {
        uint32_t bytes =
            (uint32_t)(size - offset < WIRE_BLOCK_SIZE ? size - offset : WIRE_BLOCK_SIZE);
        struct {
            struct wire_request head;
            struct args_push_block args;
        } record = {
            .head = {.size = sizeof(record), .op = OP_push_block, .context = peer->context},
            .args = {.job = job, .size = bytes, .offset = offset},
        };
        while (!peer->credits)
            if (!peer_take_event(peer, TIMEOUT_MS))
                bail("no credit");
        peer->credits--;
        if (link_send_bulk(peer->link, &record, sizeof(record), (const uint8_t *)data + offset,
                           bytes))
            bail("a block is not taken");
    }
}

void peer_push(struct peer *peer, uint32_t job, CUdeviceptr dst, const void *data, size_t size,
               uint64_t stream)
{
    POST(peer, push_begin, .job = job, .dst = dst, .size = size, .stream = stream);
    peer_push_blocks(peer, job, data, size);
}

void peer_pull(struct peer *peer, uint32_t job, void *data, CUdeviceptr src, size_t size,
               uint64_t stream)
{
    peer->jobs[job % PEER_JOBS] = (struct peer_job){.data = data, .size = size};
    POST(peer, pull, .job = job, .src = src, .size = size, .stream = stream);
}

// ---- brakes ----

static void write_word(struct peer *peer, CUdeviceptr word, uint32_t value, uint64_t stream)
{
    POST_TAIL(peer, write_rows, &value, sizeof(value), .dst = word, .pitch = sizeof(value),
              .width = sizeof(value), .rows = 1, .stream = stream, .bytes = sizeof(value));
}

void brake_make(struct peer *peer, struct brake *brake)
{
    brake->word = peer_alloc(peer, 256);
    brake->stream = peer_stream(peer);
    write_word(peer, brake->word, 0, brake->stream);
    if (ASK(peer, cuStreamSynchronize, .hStream = brake->stream))
        bail("the brake is not ready");
}

void brake_hold(struct peer *peer, const struct brake *brake, uint64_t stream)
{
    POST(peer, cuStreamWaitValue32_v2, .stream = stream, .addr = brake->word, .value = 1,
         .flags = CU_STREAM_WAIT_VALUE_GEQ);
}

void brake_release(struct peer *peer, const struct brake *brake)
{
    POST(peer, cuStreamWriteValue32_v2, .stream = brake->stream, .addr = brake->word, .value = 1);
}

void fill(uint8_t *data, size_t size, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;

    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (uint8_t)(state >> 24);
    }
}

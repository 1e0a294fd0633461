// Opening sessions: where the boxes are, how bytes will move, and one list of their devices.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/copy.h"
#include "client-lib/exports.h"
#include "client-lib/session.h"
#include "common/endpoint.h"
#include "common/log.h"
#include "common/ticket.h"

enum {
    BOXES_MAX = 64,
    TRANSPORT_TIMEOUT_MS = 5000,
    SPIN_PROCESSORS = 8,
    SPIN_FOR_GPU_US = 2000,
};

struct session *sessions[BOXES_MAX];
unsigned int session_count;
int session_device_count;

// The one line that tells a user why there is no GPU, even where logging is off.
static void tell(const char *text)
{
    fprintf(stderr, "rgpu: %s\n", text);
}

int transport_choice(enum control_transport *choice)
{
    static const struct {
        const char *name;
        enum control_transport transport;
    } words[] = {{"auto", CONTROL_TRANSPORT_AUTOMATIC}, {"tcp", CONTROL_TRANSPORT_TCP},
                 {"shm", CONTROL_TRANSPORT_SHM}};
    const char *word = getenv("RGPU_TRANSPORT");
    *choice = CONTROL_TRANSPORT_AUTOMATIC;
    if (!word || !*word)
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].name) == 0) {
            *choice = words[i].transport;
            return 0;
        }
    }
    tell("RGPU_TRANSPORT is not one of auto, shm, tcp");
    return -EINVAL;
}

static struct link_options link_settings(void)
{
    struct link_options options = {.spin_us = link_default_spin_us()};
    // A thread that waits for the GPU spins, as it would with a local one, where there are
    // processors for it; the wake-up from sleep costs tens of microseconds.
    if (sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_PROCESSORS)
        options.spin_us = SPIN_FOR_GPU_US;
    const char *text = getenv("RGPU_SPIN_US");
    if (text && *text) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (*end == 0 && value <= 1000000)
            options.spin_us = (uint32_t)value;
        else
            tell("RGPU_SPIN_US is not a number of microseconds up to 1000000; it is ignored");
    }
    return options;
}

// Whether the worker's abstract socket can be reached at all: same kernel, same network namespace.
static bool reaches(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (!length || length > sizeof(address.sun_path) - 1)
        return false;
    memcpy(address.sun_path + 1, name, length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int connected = connect(fd, (void *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
    close(fd);
    return connected == 0;
}

static bool same_kernel(const uint8_t boot_id[CONTROL_BOOT_ID_BYTES])
{
    uint8_t ours[CONTROL_BOOT_ID_BYTES];
    return control_boot_id(ours) == 0 && memcmp(ours, boot_id, sizeof(ours)) == 0;
}

// Why shm cannot be had, or NULL when it can.
static const char *shm_obstacle(const struct session_welcome *welcome)
{
    if (!welcome->offer.shm_socket[0])
        return "the box offers none";
    if (!same_kernel(welcome->boot_id))
        return "the box is another host";
    if (!reaches(welcome->offer.shm_socket))
        return "the box is in another network namespace of this host";
    return NULL;
}

// Makes the link over the wanted or the best transport. ERROR has a result of 0 where another
// try, over tcp, may succeed.
static int choose_link(struct session *session, const struct session_welcome *welcome,
                       enum control_transport wanted, struct session_error *error)
{
    struct link_options options = link_settings();
    session->spin_us = options.spin_us;
    const char *obstacle = wanted == CONTROL_TRANSPORT_TCP ? "asked for by RGPU_TRANSPORT=tcp"
                                                           : shm_obstacle(welcome);
    char reason[200];
    if (!obstacle) {
        snprintf(reason, sizeof(reason), "same host, shared memory maps");
        if (session_propose_transport(session->control, CONTROL_TRANSPORT_SHM, reason, error) != 0)
            return -1;
        int err = link_shm_connect(welcome->offer.shm_socket, welcome->offer.shm_token,
                                   session->control, TRANSPORT_TIMEOUT_MS, &options,
                                   &session->link);
        if (err) {
            error->result = 0;
            snprintf(error->text, sizeof(error->text), "shared memory of box %s does not map: %s",
                     session->box, strerror(-err));
            return -1;
        }
    } else if (wanted == CONTROL_TRANSPORT_SHM) {
        error->result = CUDA_ERROR_SYSTEM_NOT_READY;
        snprintf(error->text, sizeof(error->text),
                 "RGPU_TRANSPORT=shm, but %s (box %s); use RGPU_TRANSPORT=auto", obstacle,
                 session->box);
        return -1;
    } else {
        snprintf(reason, sizeof(reason), "%s", wanted ? obstacle : "");
        if (!wanted)
            snprintf(reason, sizeof(reason), "no shared memory: %s", obstacle);
        if (session_propose_transport(session->control, CONTROL_TRANSPORT_TCP, reason, error) != 0)
            return -1;
        int err = link_tcp_open(session->control, &options, &session->link);
        if (err) {
            error->result = CUDA_ERROR_SYSTEM_NOT_READY;
            snprintf(error->text, sizeof(error->text), "cannot use the connection to box %s: %s",
                     session->box, strerror(-err));
            return -1;
        }
        session->control = -1;
    }
    log_info("session opened box=%s session=%llu transport=%s reason=\"%s\"", session->box,
             (unsigned long long)session->id, link_name(session->link), reason);
    return 0;
}

static int take_snapshot(struct session *session, const void *bytes, size_t size)
{
    struct wire_snapshot head; // a copy: in its message it lies where the message put it
    if (size < sizeof(head))
        return -EPROTO;
    memcpy(&head, bytes, sizeof(head));
    if (head.version != CALL_PROTOCOL_VERSION || !head.devices || head.devices > WIRE_DEVICE_MAX)
        return -EPROTO;
    size_t n = head.devices;
    if (size != sizeof(head) + n * sizeof(struct wire_device) + n * n * sizeof(struct wire_peer))
        return -EPROTO;
    session->devices = malloc(n * sizeof(*session->devices));
    session->peers = malloc(n * n * sizeof(*session->peers));
    if (!session->devices || !session->peers)
        return -ENOMEM;
    memcpy(session->devices, (const uint8_t *)bytes + sizeof(head), n * sizeof(struct wire_device));
    memcpy(session->peers,
           (const uint8_t *)bytes + sizeof(head) + n * sizeof(struct wire_device),
           n * n * sizeof(struct wire_peer));
    session->device_count = head.devices;
    session->driver_version = head.driver_version;
    for (size_t i = 0; i < n; i++) {
        struct wire_device *device = &session->devices[i];
        device->name[sizeof(device->name) - 1] = 0;
        device->pci_bus_id[sizeof(device->pci_bus_id) - 1] = 0;
    }
    return 0;
}

static void session_free(struct session *session)
{
    link_free(&session->link);
    free(session->blocks);
    if (session->control >= 0)
        close(session->control);
    free(session->devices);
    free(session->peers);
    free(session);
}

static struct session *session_try(const struct endpoint *endpoint, const char *token,
                                   enum control_transport transport, struct session_error *error)
{
    struct session_request request = {.endpoint = *endpoint, .transport = transport,
                                      .token = token};
    struct session_welcome welcome;
    // Aligned for the record of the thread that receives.
    struct session *session = aligned_alloc(64, (sizeof(*session) + 63) & ~(size_t)63);
    if (!session) {
        error->result = CUDA_ERROR_OUT_OF_MEMORY;
        snprintf(error->text, sizeof(error->text), "no memory for a session");
        return NULL;
    }
    memset(session, 0, sizeof(*session));
    session->control = -1;
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->pushing, NULL);
    pthread_cond_init(&session->service_needed, NULL);
    if (session_open(&request, &welcome, &session->control, error) != 0) {
        session_free(session);
        return NULL;
    }
    char address[ENDPOINT_TEXT_MAX];
    endpoint_format(endpoint, address);
    snprintf(session->box, sizeof(session->box), "%.60s(%.90s)", welcome.box, address);
    session->id = welcome.session;
    int err = take_snapshot(session, welcome.offer.snapshot, welcome.offer.snapshot_size);
    if (err) {
        error->result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
        snprintf(error->text, sizeof(error->text),
                 "box %s describes its devices in a form that this library does not know: "
                 "install the same version of rgpu on both sides", session->box);
    } else {
        err = choose_link(session, &welcome, transport, error);
    }
    session_welcome_free(&welcome);
    if (!err)
        err = copy_start(session, error);
    if (err) {
        session_free(session);
        return NULL;
    }
    return session;
}

static CUresult open_box(const struct endpoint *endpoint, const char *token,
                         enum control_transport transport)
{
    struct session_error error = {0};
    struct session *session = session_try(endpoint, token, transport, &error);
    if (!session && !error.result && transport == CONTROL_TRANSPORT_AUTOMATIC) {
        log_warn("falling back to tcp reason=\"%s\"", error.text);
        session = session_try(endpoint, token, CONTROL_TRANSPORT_TCP, &error);
    }
    if (!session) {
        tell(error.text);
        return error.result ? (CUresult)error.result : CUDA_ERROR_SYSTEM_NOT_READY;
    }
    session->first_device = session_device_count;
    session_device_count += (int)session->device_count;
    sessions[session_count++] = session;
    return CUDA_SUCCESS;
}

static CUresult open_listed(const char *list, enum control_transport transport)
{
    struct endpoint endpoints[BOXES_MAX];
    int count = endpoint_parse_list(list, ENDPOINT_DEFAULT_PORT, endpoints, BOXES_MAX);
    if (count <= 0) {
        tell("RGPU_BOXES is not a list of host:port[,host:port...]");
        return CUDA_ERROR_NO_DEVICE;
    }
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = open_box(&endpoints[i], NULL, transport);
    return result;
}

static CUresult open_ticketed(const struct ticket_bundle *bundle, enum control_transport transport)
{
    for (size_t i = 0; i < bundle->count; i++) {
        struct endpoint endpoints[BOXES_MAX];
        int count = session_count >= BOXES_MAX ? -E2BIG
                    : endpoint_parse_list(bundle->entries[i].addresses, ENDPOINT_DEFAULT_PORT,
                                          endpoints, BOXES_MAX);
        if (count <= 0) {
            tell("the ticket names no usable address of a box");
            return CUDA_ERROR_NO_DEVICE;
        }
        CUresult result = CUDA_ERROR_NO_DEVICE;
        for (int a = 0; a < count && result != CUDA_SUCCESS; a++)
            result = open_box(&endpoints[a], bundle->entries[i].token, transport);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static void close_all(void)
{
    while (session_count)
        session_free(sessions[--session_count]);
    session_device_count = 0;
}

CUresult sessions_open(void)
{
    enum control_transport transport;
    if (transport_choice(&transport) != 0)
        return CUDA_ERROR_INVALID_VALUE;

    struct ticket_bundle bundle;
    const char *boxes = getenv("RGPU_BOXES");
    int err = ticket_bundle_load(&bundle);
    CUresult result;
    if (err == 0) {
        result = open_ticketed(&bundle, transport);
        ticket_bundle_free(&bundle);
    } else if (err != -ENOENT) {
        tell(err == -EPERM ? "the file that RGPU_TICKET_FILE names can be read by others or is not "
                             "yours: make it mode 0600"
             : err == -EBADMSG ? "RGPU_TICKET or RGPU_TICKET_FILE does not hold a ticket"
                               : "cannot read the ticket that RGPU_TICKET_FILE names");
        result = CUDA_ERROR_NO_DEVICE;
    } else if (boxes && *boxes) {
        result = open_listed(boxes, transport);
    } else {
        tell("no GPU box is named: set RGPU_BOXES=host:port, or run under a job that has a ticket "
             "(RGPU_TICKET_FILE)");
        result = CUDA_ERROR_NO_DEVICE;
    }
    if (result != CUDA_SUCCESS)
        close_all();
    return result;
}

void sessions_abandon(void)
{
    for (unsigned int i = 0; i < session_count; i++) {
        link_abandon(sessions[i]->link);
        if (sessions[i]->control >= 0)
            close(sessions[i]->control);
        sessions[i]->control = -1;
    }
}

struct session *session_of_device(CUdevice device)
{
    for (unsigned int i = 0; i < session_count; i++) {
        struct session *session = sessions[i];
        if (device >= session->first_device &&
            device < session->first_device + (CUdevice)session->device_count)
            return session;
    }
    return NULL;
}

const struct wire_device *session_device(CUdevice device)
{
    struct session *session = session_of_device(device);
    return session ? &session->devices[device - session->first_device] : NULL;
}

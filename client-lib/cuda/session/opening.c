// SPDX-License-Identifier: BSD-3-Clause
// Opens sessions: finds the boxes, chooses transports, and makes one list of all devices.
#include "client-lib/cuda/session/opening.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/report/summary.h"
#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/choose_transport.h"
#include "client-lib/cuda/session/snapshot_read.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/visible_devices.h"
#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/base/pci_place.h"
#include "common/security/ticket.h"
#include "cuda_ops.h"
#include "version.h"

enum { ATTEMPTS = 3 }; // while connections break

// The request to all boxes, and the transport that the user wants; NULL: the best one.
struct wish {
    struct session_request request;
    const struct transport *transport;
    enum mapped_host mapped_host;
    unsigned paths; // the copy paths that the user forces; 0: none
};

static struct box_session *session_try(const struct wish *wish, struct session_error *error)
{
    struct session_welcome welcome;
    // Aligned for the record of the receiving thread.
    struct box_session *session = aligned_alloc(64, (sizeof(*session) + 63) & ~(size_t)63);
    if (!session) {
        error->result = CUDA_ERROR_OUT_OF_MEMORY;
        snprintf(error->text, sizeof(error->text), "no memory for a session");
        return NULL;
    }
    memset(session, 0, sizeof(*session));
    session->stream.fd = -1;
    session->first_device = CU_DEVICE_INVALID;
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->pushing, NULL);
    pthread_cond_init(&session->service_needed, NULL);
    session->forced_paths = wish->paths;
    if (session_open(&wish->request, &welcome, &session->stream, error) != 0) {
        session_free(session);
        return NULL;
    }
    endpoint_format(&wish->request.endpoint, session->address);
    snprintf(session->box, sizeof(session->box), "%.60s(%.90s)", welcome.box, session->address);
    snprintf(session->release, sizeof(session->release), "%s",
             *welcome.release ? welcome.release : "0.1");
    session->id = welcome.session;
    session->reconnect_ms = wish->request.reconnect_ms;
    int err = snapshot_take(session, welcome.offer.snapshot, welcome.offer.snapshot_size);
    if (err) {
        error->result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
        snprintf(error->text, sizeof(error->text),
                 "box %s of rgpu %s describes its devices in a form that this library of rgpu %s "
                 "does not know: install neighbouring releases on both",
                 session->box, session->release, RGPU_VERSION);
    } else {
        err = session_choose_link(session, &welcome, wish->transport, error);
    }
    session_welcome_free(&welcome);
    if (!err)
        err = staging_start(session, error);
    session->mirrors_on_demand = !err && wish->mapped_host != MAPPED_HOST_NO &&
                                 session_knows(session, OP_host_mirror);
    session->mirrors_host = session->mirrors_on_demand && wish->mapped_host == MAPPED_HOST_MIRROR &&
                            !session->memory->maps_page_locked;
    if (err) {
        session_free(session);
        return NULL;
    }
    return session;
}

// The last transport of the table, which needs only the connection.
static const struct transport *plainest(void)
{
    const struct transport *const *row = transports;
    while (row[1])
        row++;
    return *row;
}

// Gives the GPUs of other boxes PCI domains of their own. Those of the first box keep theirs.
static void place_apart(struct box_session *session, unsigned number)
{
    for (uint32_t i = 0; number && i < session->device_count; i++) {
        struct wire_device *device = &session->devices[i];
        struct pci_place place;
        if (!pci_place_read(device->pci_bus_id, &place))
            continue;
        place.domain = pci_domain_seen(place.domain, number);
        pci_place_write(&place, device->pci_bus_id, sizeof(device->pci_bus_id));
        device->attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] = (int32_t)place.domain;
    }
}

static struct box_session *session_try_again(const struct wish *wish, struct session_error *error)
{
    struct box_session *session;
    int attempt = 0;
    do {
        *error = (struct session_error){0};
        session = session_try(wish, error);
    } while (!session && error->lost && ++attempt < ATTEMPTS);
    return session;
}

static CUresult make_session(const struct wish *wish, struct box_session **session)
{
    struct session_error error = {0};
    *session = session_try_again(wish, &error);
    if (!*session && !error.result && !wish->transport) {
        struct wish plain = *wish;
        plain.transport = plainest();
        log_warn("falling back to %s reason=\"%s\"", plain.transport->words, error.text);
        *session = session_try(&plain, &error);
    }
    if (*session)
        return CUDA_SUCCESS;
    tell("%s", error.text);
    return error.result ? (CUresult)error.result : CUDA_ERROR_SYSTEM_NOT_READY;
}

// Other threads may read the list.
static void add_session(struct box_session *session)
{
    place_apart(session, session_count);
    sessions[session_count] = session;
    session_count++;
}

static CUresult open_box(const struct wish *wish)
{
    struct box_session *session;
    CUresult result = make_session(wish, &session);
    if (result == CUDA_SUCCESS)
        add_session(session);
    return result;
}

static CUresult open_listed(const char *list, struct wish wish)
{
    struct endpoint endpoints[SESSIONS_MAX];
    int count = endpoint_parse_list(list, ENDPOINT_DEFAULT_PORT, endpoints, SESSIONS_MAX);
    if (count <= 0) {
        char problem[256];
        endpoint_list_problem(list, ENDPOINT_DEFAULT_PORT, SESSIONS_MAX, problem, sizeof(problem));
        tell("RGPU_BOXES is not a list of boxes: %s", problem);
        return CUDA_ERROR_NO_DEVICE;
    }
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++) {
        wish.request.endpoint = endpoints[i];
        result = open_box(&wish);
    }
    return result;
}

static CUresult open_entry(const struct ticket_entry *entry, struct wish wish)
{
    struct endpoint endpoints[SESSIONS_MAX];
    int count =
        session_count >= SESSIONS_MAX
            ? -E2BIG
            : endpoint_parse_list(entry->addresses, ENDPOINT_DEFAULT_PORT, endpoints, SESSIONS_MAX);
    if (count <= 0) {
        tell("the ticket names no usable address of a box");
        return CUDA_ERROR_NO_DEVICE;
    }
    CUresult result = CUDA_ERROR_NO_DEVICE;
    wish.request.token = entry->token;
    wish.request.box = entry->box;
    for (int a = 0; a < count && result != CUDA_SUCCESS; a++) {
        wish.request.endpoint = endpoints[a];
        result = open_box(&wish);
    }
    return result;
}

static CUresult open_ticketed(const struct ticket_bundle *bundle, const struct wish *wish)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < bundle->count && result == CUDA_SUCCESS; i++)
        result = open_entry(&bundle->entries[i], *wish);
    return result;
}

static void opening_close_all(void)
{
    while (session_count)
        session_free(sessions[--session_count]);
    session_forget_devices();
}

// Closes the session to a box if the program sees none of its devices.
static CUresult show_devices(void)
{
    unsigned int kept = 0;
    visible_show_devices();
    for (unsigned int i = 0; i < session_count; i++) {
        if (sessions[i]->first_device != CU_DEVICE_INVALID)
            sessions[kept++] = sessions[i];
        else
            session_free(sessions[i]);
    }
    session_count = kept;
    return kept ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

static void describe_sessions(FILE *out)
{
    for (unsigned int i = 0; i < session_count; i++) {
        const struct box_session *session = sessions[i];
        uint64_t sent, received;
        link_bytes(session->link, &sent, &received);
        fprintf(out,
                SUMMARY_LINE
                "box %s, session %llu, over %s (%s): %llu bytes sent on the link, %llu received\n",
                session->box, (unsigned long long)session->id, session->transport,
                session->transport_reason, (unsigned long long)sent, (unsigned long long)received);
    }
}

// WINDOWS provides memory for the windows that HELLO names, and the wish points to it.
static CUresult make_wish(struct wish *wish, char *windows, size_t size)
{
    transports_introduce(windows, size);
    *wish = (struct wish){.request = {.windows = windows, .reconnect_ms = reconnect_choice()}};
    return transport_choice(&wish->transport) != 0 ||
                   protection_choice(&wish->request.protection) != 0 ||
                   mapped_host_choice(&wish->mapped_host) != 0 || paths_choice(&wish->paths) != 0
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static void tell_of_ticket(int err)
{
    tell(err == -EPERM     ? "the file that RGPU_TICKET_FILE names can be read by others or is not "
                             "yours: make it mode 0600"
         : err == -EBADMSG ? "RGPU_TICKET or RGPU_TICKET_FILE does not hold a ticket"
                           : "cannot read the ticket that RGPU_TICKET_FILE names");
}

static void tell_of_no_box(const char *file)
{
    tell(file && *file
             ? "the file that RGPU_TICKET_FILE names is not there: its lease has ended, or the "
               "container lacks its directory"
             : "no GPU box is named: set RGPU_BOXES=host:port, or run under a job that has a "
               "ticket (RGPU_TICKET_FILE)");
}

CUresult sessions_open(void)
{
    watch_describe(describe_sessions);
    if (visible_hides_all())
        return CUDA_ERROR_NO_DEVICE;
    struct wish wish;
    char windows[sizeof(((struct control_hello *)0)->windows)];
    CUresult result = make_wish(&wish, windows, sizeof(windows));
    if (result != CUDA_SUCCESS)
        return result;

    struct ticket_bundle bundle;
    const char *boxes = secure_getenv("RGPU_BOXES");
    int err = ticket_bundle_load(&bundle);
    if (err == 0) {
        result = open_ticketed(&bundle, &wish);
        ticket_bundle_free(&bundle);
    } else if (err != -ENOENT) {
        tell_of_ticket(err);
        result = CUDA_ERROR_NO_DEVICE;
    } else if (boxes && *boxes) {
        result = open_listed(boxes, wish);
    } else {
        tell_of_no_box(secure_getenv("RGPU_TICKET_FILE"));
        result = CUDA_ERROR_NO_DEVICE;
    }
    if (result == CUDA_SUCCESS)
        result = show_devices();
    if (result != CUDA_SUCCESS)
        opening_close_all();
    return result;
}

// ---- devices that the program does not see ----

static int opening_device_of(const struct box_session *session, const uint8_t *uuid)
{
    for (uint32_t i = 0; i < session->device_count; i++)
        if (!memcmp(session->devices[i].uuid, uuid, sizeof(session->devices[i].uuid)))
            return (int)i;
    return -1;
}

// Finds the device with that UUID in all open sessions. It gets a number if it has none yet.
static CUdevice opening_find_device(const uint8_t *uuid)
{
    for (unsigned int i = 0; i < session_count; i++) {
        int device = opening_device_of(sessions[i], uuid);
        if (device < 0)
            continue;
        CUdevice known = session_shown(sessions[i], (uint32_t)device);
        return known == CU_DEVICE_INVALID ? session_number(sessions[i], (uint32_t)device) : known;
    }
    return CU_DEVICE_INVALID;
}

static bool opening_is_open(const struct endpoint *endpoint)
{
    char address[ENDPOINT_TEXT_MAX];
    endpoint_format(endpoint, address);
    for (unsigned int i = 0; i < session_count; i++)
        if (!strcmp(sessions[i]->address, address))
            return true;
    return false;
}

// Without tickets the devices of a box are unknown until its session is open.
static CUdevice open_listed_for(const char *list, struct wish wish, const uint8_t *uuid)
{
    struct endpoint endpoints[SESSIONS_MAX];
    int count = endpoint_parse_list(list, ENDPOINT_DEFAULT_PORT, endpoints, SESSIONS_MAX);
    for (int i = 0; i < count && session_count < SESSIONS_MAX; i++) {
        struct box_session *session;
        wish.request.endpoint = endpoints[i];
        if (opening_is_open(&endpoints[i]) || make_session(&wish, &session) != CUDA_SUCCESS)
            continue;
        if (opening_device_of(session, uuid) >= 0) {
            add_session(session);
            return opening_find_device(uuid);
        }
        session_free(session);
    }
    return CU_DEVICE_INVALID;
}

static CUdevice open_ticketed_for(const struct ticket_bundle *bundle, const struct wish *wish,
                                  const uint8_t *uuid)
{
    for (size_t i = 0; i < bundle->count; i++)
        if (ticket_names_gpu(&bundle->entries[i], uuid))
            return open_entry(&bundle->entries[i], *wish) == CUDA_SUCCESS
                       ? opening_find_device(uuid)
                       : CU_DEVICE_INVALID;
    return CU_DEVICE_INVALID;
}

CUresult sessions_reach(const CUuuid *uuid, CUdevice *device)
{
    struct wish wish;
    struct ticket_bundle bundle;
    const char *boxes = secure_getenv("RGPU_BOXES");
    const uint8_t *wanted = (const uint8_t *)uuid->bytes;
    char windows[sizeof(((struct control_hello *)0)->windows)];
    CUresult result = make_wish(&wish, windows, sizeof(windows));
    *device = opening_find_device(wanted);
    if (*device == CU_DEVICE_INVALID && result == CUDA_SUCCESS) {
        int err = ticket_bundle_load_of_job(&bundle);
        if (!err) {
            *device = open_ticketed_for(&bundle, &wish, wanted);
            ticket_bundle_free(&bundle);
        } else if (err == -ENOENT && boxes) {
            *device = open_listed_for(boxes, wish, wanted);
        }
    }
    return *device == CU_DEVICE_INVALID ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

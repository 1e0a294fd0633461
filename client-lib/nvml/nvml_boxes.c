// SPDX-License-Identifier: BSD-3-Clause
// Finds the boxes, and queries the lease's GPUs. Both are numbered in the same way as in
// libcuda.so.1.
#include "client-lib/nvml/nvml_boxes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/session_client.h"
#include "common/security/ticket.h"
#include "common/base/uuid_text.h"

enum {
    BOXES_MAX = 64,
    ADDRESSES_MAX = 16,
    REFRESH_LEAST_MS = 100,
    REFRESH_MOST_MS = 250,
    RETRY_MS = 1000, // time without a query after a box has not answered
};

struct box_place {
    struct endpoint addresses[ADDRESSES_MAX];
    int address_count, address; // index of the address that answered last
    struct session_request request;
    int64_t failed_ms; // time of the failure; 0: the box answered
    unsigned news_ms;
};

struct nvml_state nvml_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    struct box_place list[BOXES_MAX];
    unsigned count;
    bool reported; // the present failure has been logged
    struct ticket_bundle bundle;
} boxes;

// ---- finding the boxes ----

static int add_box(const char *addresses, const char *name, const char *token)
{
    struct box_place *box = &boxes.list[boxes.count];

    if (boxes.count == BOXES_MAX)
        return -E2BIG;
    *box = (struct box_place){.request = {.box = name, .token = token}};
    box->address_count =
        endpoint_parse_list(addresses, ENDPOINT_DEFAULT_PORT, box->addresses, ADDRESSES_MAX);
    if (box->address_count <= 0)
        return -EINVAL;
    boxes.count++;
    return 0;
}

// Each address of RGPU_BOXES is a separate box.
static int add_listed(const char *list)
{
    struct endpoint endpoints[BOXES_MAX];
    int count = endpoint_parse_list(list, ENDPOINT_DEFAULT_PORT, endpoints, BOXES_MAX);

    for (int i = 0; i < count; i++)
        boxes.list[boxes.count++] =
            (struct box_place){.addresses = {endpoints[i]}, .address_count = 1};
    return count > 0 ? 0 : -EINVAL;
}

static int find_boxes(void)
{
    const char *list = secure_getenv("RGPU_BOXES");

    ticket_bundle_free(&boxes.bundle);
    boxes.count = 0;
    int err = ticket_bundle_load(&boxes.bundle);
    if (err == -ENOENT)
        return list && *list ? add_listed(list) : -ENOENT;
    for (size_t i = 0; !err && i < boxes.bundle.count; i++) {
        const struct ticket_entry *entry = &boxes.bundle.entries[i];
        err = add_box(entry->addresses, entry->box, entry->token);
    }
    return err;
}

// ---- querying the boxes ----

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void take_uuid(struct lease_gpu *gpu)
{
    char uuid[UUID_TEXT];

    uuid_text(gpu->said.uuid, uuid);
    snprintf(gpu->uuid, sizeof(gpu->uuid), "%s-%s", gpu->said.instance ? "MIG" : "GPU", uuid);
}

static void nvml_boxes_take_figures(struct lease_gpu *gpu, const struct control_figures *said)
{
    gpu->said = *said;
    gpu->said.system = gpu->said.answers = NULL;
    gpu->system_size = said->system_size;
    gpu->answers_size = said->answers_size;
    memcpy(gpu->system, said->system, said->system_size);
    memcpy(gpu->answers, said->answers, said->answers_size);
    gpu->said_us = wall_us();
    gpu->lost = false;
    take_uuid(gpu);
}

// Appends a GPU to the list. Only while the library is being initialized.
static struct lease_gpu *nvml_boxes_add_gpu(unsigned box, unsigned place)
{
    struct lease_gpu *gpu = &nvml_state.gpus[nvml_state.count];

    if (nvml_state.count == NVML_GPUS_MAX)
        return NULL;
    *gpu = (struct lease_gpu){.box = box, .place = place};
    nvml_state.count++;
    return gpu;
}

static struct lease_gpu *nvml_boxes_find_gpu(unsigned box, unsigned place)
{
    for (unsigned i = 0; i < nvml_state.count; i++)
        if (nvml_state.gpus[i].box == box && nvml_state.gpus[i].place == place)
            return &nvml_state.gpus[i];
    return NULL;
}

// Returns false if the box has another GPU now than the one that the handle stands for.
static bool nvml_boxes_is_same(const struct lease_gpu *gpu, const struct control_figures *said)
{
    return !*gpu->uuid || !memcmp(gpu->said.uuid, said->uuid, sizeof(said->uuid));
}

static int nvml_boxes_query_all(unsigned index, const struct control_stream *stream, bool adds,
                                struct session_error *error)
{
    struct box_place *box = &boxes.list[index];
    struct control_frame frame = {0};
    struct control_figures *said = malloc(sizeof(*said));
    unsigned gpus = 1;
    int err = said ? 0 : -1;

    for (unsigned i = 0; !err && i < gpus; i++) {
        err = session_query_figures(&box->request, stream, i, &frame, said, error);
        struct lease_gpu *gpu = err    ? NULL
                                : adds ? nvml_boxes_add_gpu(index, i)
                                       : nvml_boxes_find_gpu(index, i);
        if (gpu && nvml_boxes_is_same(gpu, said))
            nvml_boxes_take_figures(gpu, said);
        if (!err) {
            gpus = said->gpus;
            box->news_ms = said->news_ms;
        }
    }
    control_frame_free(&frame);
    free(said);
    return err;
}

static int nvml_boxes_ask_box(unsigned index, bool adds)
{
    struct box_place *box = &boxes.list[index];
    struct session_error error = {0};
    int err = -1;

    for (int i = 0; err && i < box->address_count; i++) {
        struct control_stream stream = {.fd = -1};
        box->request.endpoint = box->addresses[(box->address + i) % box->address_count];
        err = session_ask_open(&box->request, &stream, &error);
        if (err)
            continue;
        err = nvml_boxes_query_all(index, &stream, adds, &error);
        session_stream_close(&stream);
        if (!err)
            box->address = (box->address + i) % box->address_count;
    }
    if (err && !boxes.reported)
        log_warn("%s", error.text);
    boxes.reported = err;
    box->failed_ms = err ? clock_ms() : 0;
    return err;
}

int boxes_find(void)
{
    if (!nvml_state.gpus)
        nvml_state.gpus = calloc(NVML_GPUS_MAX, sizeof(*nvml_state.gpus));
    if (!nvml_state.gpus)
        return NVML_MEMORY;
    nvml_state.count = 0;
    int err = find_boxes();
    if (err == -ENOENT) // no error: many programs only test if there are GPUs
        log_info(
            "no GPU box is named: set RGPU_BOXES=host:port, or run under a job that has a ticket");
    else if (err)
        log_warn("RGPU_BOXES, RGPU_TICKET or RGPU_TICKET_FILE is not usable error=\"%s\"",
                 strerror(-err));
    if (err)
        return NVML_DRIVER_NOT_LOADED;
    for (unsigned i = 0; i < boxes.count; i++)
        if (nvml_boxes_ask_box(i, true))
            return NVML_DRIVER_NOT_LOADED;
    nvml_state.asked_ms = clock_ms();
    return NVML_OK;
}

static int64_t age_allowed(const struct box_place *box)
{
    return box->failed_ms                    ? RETRY_MS
           : box->news_ms < REFRESH_LEAST_MS ? REFRESH_LEAST_MS
           : box->news_ms > REFRESH_MOST_MS  ? REFRESH_MOST_MS
                                             : (int64_t)box->news_ms;
}

void boxes_refresh(void)
{
    int64_t now = clock_ms(), oldest = now - nvml_state.asked_ms;
    bool due = false, failed = false;

    for (unsigned i = 0; i < boxes.count; i++) {
        due = due || oldest >= age_allowed(&boxes.list[i]);
        failed = failed || boxes.list[i].failed_ms;
    }
    if (due && failed) // there may be a newer ticket
        failed = find_boxes();
    for (unsigned i = 0; due && i < nvml_state.count; i++)
        nvml_state.gpus[i].lost = true;
    for (unsigned i = 0; due && i < boxes.count; i++)
        nvml_boxes_ask_box(i, false); // clears `lost` of the box's GPUs
    if (due)
        nvml_state.asked_ms = clock_ms();
}

// SPDX-License-Identifier: BSD-3-Clause
// The file `moved` has a line for each moved GPU index: lease, index, GPU.
#include "daemon/rgpud/suspension/lease_places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/client.h"
#include "daemon/rgpud/box/state_saver.h"

#define FILE_NAME "moved"

TAILQ_HEAD(lease_place_list, lease_place);

struct lease_places {
    struct lease_place_list list;
    struct state_saver *saver; // NULL: nothing is kept
    uint64_t begun, done;      // numbers of writes
    bool failed, loaded;
};

struct lease_place *places_find(const struct box *box, const char *lease, uint32_t ordinal)
{
    struct lease_place *place;

    TAILQ_FOREACH(place, &box->places->list, link)
        if (place->ordinal == ordinal && !strcmp(place->lease, lease))
            return place;
    return NULL;
}

struct lease_place *places_next(const struct box *box, const struct lease_place *after)
{
    return after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&box->places->list);
}

struct box_device *places_device(const struct box *box, const char *lease, uint32_t ordinal,
                                 struct box_device *named)
{
    const struct lease_place *place = *lease ? places_find(box, lease, ordinal) : NULL;

    return place && place->device ? place->device : named;
}

// ---- on disk ----

static void lease_places_saved(void *argument, uint64_t number, int err)
{
    struct box *box = argument;

    box->places->failed = err != 0;
    if (err)
        return;
    box->places->done = number;
    box->suspension_changes++;
    box_changed(box);
}

static void lease_places_save(struct box *box)
{
    struct lease_places *places = box->places;
    const struct lease_place *place;
    char *text = NULL;
    size_t size = 0;
    FILE *out = places->saver ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    TAILQ_FOREACH(place, &places->list, link)
        if (place->of_broker && place->device)
            fprintf(out, "%s %u %s\n", place->lease, place->ordinal, place->device->uuid);
    if (fclose(out) || !text) {
        free(text);
        return;
    }
    if (!state_saver_write(places->saver, FILE_NAME, "moved.written", text, size,
                           places->begun + 1))
        places->begun++;
}

void places_try_again(struct box *box)
{
    if (!box->places->failed)
        return;
    box->places->failed = false;
    lease_places_save(box);
}

bool places_is_kept(const struct box *box, const struct lease_place *place)
{
    return !box->places->saver || (place->save && place->save <= box->places->done);
}

// ---- changes ----

// Notes a change. Clients of the lease that wait for a worker get their devices computed again.
static void lease_places_changed(struct box *box, struct lease_place *place)
{
    struct client *client;

    TAILQ_FOREACH(client, &box->clients, link)
        if (client->ticket && !strcmp(client->ticket->lease, place->lease))
            client->resolved = false;
    lease_places_save(box);
    place->save = box->places->begun;
    box->suspension_changes++;
    box_changed(box);
}

static struct lease_place *lease_places_put(struct box *box, const char *lease, uint32_t ordinal,
                                            struct box_device *device, bool of_broker)
{
    struct lease_place *place = places_find(box, lease, ordinal);

    if (!place) {
        place = calloc(1, sizeof(*place));
        if (!place)
            return NULL;
        snprintf(place->lease, sizeof(place->lease), "%s", lease);
        place->ordinal = ordinal;
        TAILQ_INSERT_TAIL(&box->places->list, place, link);
    }
    place->before = place->device;
    place->device = device;
    place->of_broker = of_broker;
    *place->refused = *place->problem = '\0';
    return place;
}

struct lease_place *places_put(struct box *box, const char *lease, uint32_t ordinal,
                               struct box_device *device, bool of_broker)
{
    struct lease_place *place = lease_places_put(box, lease, ordinal, device, of_broker);

    if (place)
        lease_places_changed(box, place);
    return place;
}

void places_fail(struct box *box, struct lease_place *place, const char *problem)
{
    log_warn("lease=%s place=%u is not moved to gpu=%s reason=\"%s\"", place->lease, place->ordinal,
             place->device ? place->device->uuid : "none", problem);
    snprintf(place->refused, sizeof(place->refused), "%s",
             place->device ? place->device->uuid : "");
    place->device = place->before;
    snprintf(place->problem, sizeof(place->problem), "%s", problem);
    lease_places_changed(box, place);
}

void places_forget(struct box *box, struct lease_place *place)
{
    TAILQ_REMOVE(&box->places->list, place, link);
    free(place);
    lease_places_save(box);
}

// ---- opening and closing ----

static struct box_device *lease_places_device_named(struct box *box, const char *uuid)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (!strcasecmp(box->devices[i].uuid, uuid))
            return &box->devices[i];
    return NULL;
}

// Writes all entries once after loading. A write for each entry would leave a partial file if the
// daemon stopped in between.
static void save_all(struct box *box)
{
    struct lease_place *place;

    if (TAILQ_EMPTY(&box->places->list))
        return;
    lease_places_save(box);
    TAILQ_FOREACH(place, &box->places->list, link)
        place->save = box->places->begun;
}

void places_load(struct box *box)
{
    const char *directory = box->settings.state_dir ? box->settings.state_dir : ".";
    char path[4096], lease[128], uuid[48];
    unsigned ordinal;

    if (!box->places->saver || box->places->loaded)
        return;
    box->places->loaded = true;
    snprintf(path, sizeof(path), "%s/" FILE_NAME, directory);
    SCOPED_FILE FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%127s %u %47s", lease, &ordinal, uuid) == 3) {
        struct box_device *device = lease_places_device_named(box, uuid);
        if (device)
            lease_places_put(box, lease, ordinal, device, true);
        else
            log_warn("lease=%s was moved to gpu=%s, which is not there", lease, uuid);
    }
    if (file && !feof(file))
        log_error("%s is damaged: what it says of further leases is not known", path);
    save_all(box);
}

int places_open(struct box *box)
{
    box->places = calloc(1, sizeof(*box->places));
    if (!box->places)
        return -ENOMEM;
    TAILQ_INIT(&box->places->list);
    if (!*box->settings.broker)
        return 0;
    box->places->saver = state_saver_open(box->base,
                                          box->settings.state_dir ? box->settings.state_dir : ".",
                                          lease_places_saved, box);
    return box->places->saver ? 0 : -ENOMEM;
}

void places_close(struct box *box)
{
    struct lease_place *place;

    if (!box->places)
        return;
    if (box->places->saver)
        state_saver_close(&box->places->saver);
    while ((place = TAILQ_FIRST(&box->places->list))) {
        TAILQ_REMOVE(&box->places->list, place, link);
        free(place);
    }
    free(box->places);
    box->places = NULL;
}

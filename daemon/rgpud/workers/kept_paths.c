// SPDX-License-Identifier: BSD-3-Clause
// See kept_paths.h. A line of the file has: host, GPU, transport, use, pattern, size, path, and the
// times of the paths.
#include "daemon/rgpud/workers/kept_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/path_table.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/state_saver.h"
#include "proto/wire.h"

#define FILE_NAME "paths"

enum {
    PLACES_MAX = 512,
    PLACES_OF_HOST = 64,
    SAVE_AFTER_S = 10,
};

// The measurements of one host, GPU and transport. The host is a client's, or another box.
struct kept_place {
    TAILQ_ENTRY(kept_place) link;
    char host[64], gpu[48], transport[16];
    // an entry without a time is unknown
    struct path_row rows[PATH_USES][PATH_PATTERNS][PATH_SIZES];
};

TAILQ_HEAD(kept_place_list, kept_place);

struct kept_paths {
    struct kept_place_list list; // most recently used first
    unsigned count;
    struct state_saver *saver; // NULL: nothing is written
    struct event *timer;
    bool unsaved;
    uint8_t section[sizeof(struct wire_paths) + 850 * sizeof(struct path_kept)];
};

// ---- entries ----

// Extracts the host from "HOST:PORT" or "[HOST]:PORT". Clients on a unix socket have the host
// "local".
static void kept_paths_host_of(const char *peer, char *host, size_t size)
{
    const char *colon = strrchr(peer, ':');
    bool local = !strncmp(peer, "unix", 4) || !colon;

    snprintf(host, size, "%.*s", local ? 5 : (int)(colon - peer), local ? "local" : peer);
    for (char *c = host; *c; c++)
        if (*c <= ' ' || *c == 0x7f)
            *c = '_';
}

static struct kept_place *kept_paths_find(const struct kept_paths *paths, const char *host,
                                          const char *gpu, const char *transport)
{
    struct kept_place *place;

    TAILQ_FOREACH(place, &paths->list, link)
        if (!strcmp(place->host, host) && !strcmp(place->gpu, gpu) &&
            !strcmp(place->transport, transport))
            return place;
    return NULL;
}

static void kept_paths_use(struct kept_paths *paths, struct kept_place *place)
{
    TAILQ_REMOVE(&paths->list, place, link);
    TAILQ_INSERT_HEAD(&paths->list, place, link);
}

static void kept_paths_forget(struct kept_paths *paths, struct kept_place *place)
{
    TAILQ_REMOVE(&paths->list, place, link);
    paths->count--;
    free(place);
}

// Makes space for one entry. A host with its full number of entries loses its oldest one; otherwise
// the oldest entry of all goes.
static void kept_paths_make_room(struct kept_paths *paths, const char *host)
{
    struct kept_place *place, *oldest = NULL;
    unsigned own = 0;

    TAILQ_FOREACH(place, &paths->list, link)
        if (!strcmp(place->host, host)) {
            own++;
            oldest = place;
        }
    if (own >= PLACES_OF_HOST)
        kept_paths_forget(paths, oldest);
    else if (paths->count >= PLACES_MAX)
        kept_paths_forget(paths, TAILQ_LAST(&paths->list, kept_place_list));
}

static struct kept_place *kept_paths_find_or_make(struct kept_paths *paths, const char *host,
                                                  const char *gpu, const char *transport)
{
    struct kept_place *place = kept_paths_find(paths, host, gpu, transport);

    if (place) {
        kept_paths_use(paths, place);
        return place;
    }
    kept_paths_make_room(paths, host);
    place = calloc(1, sizeof(*place));
    if (!place)
        return NULL;
    snprintf(place->host, sizeof(place->host), "%s", host);
    snprintf(place->gpu, sizeof(place->gpu), "%s", gpu);
    snprintf(place->transport, sizeof(place->transport), "%s", transport);
    TAILQ_INSERT_HEAD(&paths->list, place, link);
    paths->count++;
    return place;
}

static struct path_row *row_in(struct kept_place *place, const struct path_row *row)
{
    return &place->rows[row->use][row->pattern][row->size];
}

// Returns the next known row after ROW, or NULL after the last. ROW NULL returns the first.
static const struct path_row *kept_paths_next_row(const struct kept_place *place,
                                                  const struct path_row *row)
{
    const struct path_row *first = &place->rows[0][0][0];
    const struct path_row *end = first + sizeof(place->rows) / sizeof(*row);

    for (row = row ? row + 1 : first; row < end; row++)
        if (path_row_is_valid(row))
            return row;
    return NULL;
}

// ---- on disk ----

static void kept_paths_saved(void *argument, uint64_t number, int err)
{
    // The error has been logged. The next change writes everything again.
}

static void kept_paths_save(struct kept_paths *paths)
{
    const struct kept_place *place;
    char *text = NULL;
    size_t size = 0;
    FILE *out = paths->saver && paths->unsaved ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    // The oldest comes first, since a line that is read later counts as used later.
    TAILQ_FOREACH_REVERSE(place, &paths->list, kept_place_list, link)
        for (const struct path_row *row = NULL; (row = kept_paths_next_row(place, row));) {
            fprintf(out, "%s %s %s %u %u %u %u", place->host, place->gpu, place->transport,
                    row->use, row->pattern, row->size, row->chosen);
            for (unsigned i = 0; i < PATHS; i++)
                fprintf(out, " %u", row->ns[i]);
            fputc('\n', out);
        }
    if (fclose(out) || !text) {
        free(text);
        return;
    }
    paths->unsaved = false;
    if (state_saver_write(paths->saver, FILE_NAME, "paths.written", text, size, 0))
        paths->unsaved = true;
}

static void save_now(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;

    kept_paths_save(box->kept_paths);
}

static void kept_paths_changed(struct kept_paths *paths)
{
    struct timeval soon = {.tv_sec = SAVE_AFTER_S};

    paths->unsaved = true;
    if (paths->timer && !evtimer_pending(paths->timer, NULL))
        evtimer_add(paths->timer, &soon);
}

static bool kept_paths_take_line(struct kept_paths *paths, const char *line)
{
    char host[64], gpu[48], transport[16];
    unsigned numbers[4 + PATHS];
    struct path_row row = {0};
    int used = 0;

    if (sscanf(line, "%63s %47s %15s%n", host, gpu, transport, &used) != 3)
        return false;
    for (unsigned i = 0; i < 4 + PATHS; i++) {
        int more = 0;
        if (sscanf(line + used, " %u%n", &numbers[i], &more) != 1 || (i < 4 && numbers[i] > 255))
            return false;
        used += more;
    }
    row = (struct path_row){.use = (uint8_t)numbers[0],
                            .pattern = (uint8_t)numbers[1],
                            .size = (uint8_t)numbers[2],
                            .chosen = (uint8_t)numbers[3]};
    for (unsigned i = 0; i < PATHS; i++)
        row.ns[i] = numbers[4 + i];
    if (strcmp(line + used, "\n") || !path_row_is_valid(&row))
        return false;
    struct kept_place *place = kept_paths_find_or_make(paths, host, gpu, transport);
    if (place)
        *row_in(place, &row) = row;
    return true;
}

static void kept_paths_load(struct kept_paths *paths, const char *directory)
{
    SCOPED_FREE char *path = NULL, *line = NULL;
    size_t room = 0, number = 0, wrong = 0, first = 0;

    if (asprintf(&path, "%s/" FILE_NAME, directory) < 0) {
        path = NULL;
        return;
    }
    SCOPED_FILE FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        number++;
        if (!kept_paths_take_line(paths, line) && !wrong++)
            first = number;
    }
    if (wrong)
        log_warn(
            "what is known of the paths of copies is damaged path=%s line=%zu lines=%zu; these are "
            "ignored, and measured anew",
            path, first, wrong);
}

int kept_paths_open(struct box *box)
{
    const char *directory = box->settings.state_dir ? box->settings.state_dir : ".";
    struct kept_paths *paths = calloc(1, sizeof(*paths));

    if (!paths)
        return -ENOMEM;
    TAILQ_INIT(&paths->list);
    box->kept_paths = paths;
    kept_paths_load(paths, directory);
    if (access(directory, W_OK)) {
        log_info("paths of copies are known until this daemon ends path=%s error=\"%s\"", directory,
                 strerror(errno));
        return 0;
    }
    paths->timer = evtimer_new(box->base, save_now, box);
    paths->saver = state_saver_open(box->base, directory, kept_paths_saved, paths);
    return paths->timer && paths->saver ? 0 : -ENOMEM;
}

void kept_paths_close(struct box *box)
{
    struct kept_paths *paths = box->kept_paths;

    if (!paths)
        return;
    kept_paths_save(paths);
    state_saver_close(&paths->saver);
    if (paths->timer)
        event_free(paths->timer);
    while (!TAILQ_EMPTY(&paths->list))
        kept_paths_forget(paths, TAILQ_FIRST(&paths->list));
    free(paths);
    box->kept_paths = NULL;
}

// ---- workers ----

static bool is_word(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c == 0x7f)
            return false;
    return *text;
}

int kept_paths_take(struct worker_process *worker, const struct control_paths *message)
{
    struct kept_paths *paths = worker->box->kept_paths;
    const struct session_record *session = &worker->session;
    bool between = *message->other;
    char host[64];

    if (!session->id || !is_word(message->transport) || (between && !is_word(message->other)) ||
        message->rows_size % sizeof(struct path_row))
        return -EPROTO;
    if (between)
        snprintf(host, sizeof(host), "%s", message->other);
    else
        kept_paths_host_of(session->peer, host, sizeof(host));
    for (uint32_t i = 0; i < session->grant.device_count; i++) {
        struct kept_place *place = kept_paths_find_or_make(paths, host,
                                                           session->grant.devices[i]->uuid,
                                                           message->transport);
        for (uint32_t at = 0; place && at < message->rows_size; at += sizeof(struct path_row)) {
            struct path_row row;
            memcpy(&row, message->rows + at, sizeof(row));
            if (path_row_is_valid(&row) && path_use_is_between_boxes(row.use) == between)
                *row_in(place, &row) = row;
        }
    }
    kept_paths_changed(paths);
    return 0;
}

int kept_paths_asked(struct worker_process *worker, const struct control_paths_ask *asked)
{
    static struct path_row rows[(PATH_USES - PATH_TO_BOX) * PATH_PATTERNS * PATH_SIZES];
    const struct session_record *session = &worker->session;
    struct control_paths_known known = {.request = asked->request, .rows = (const uint8_t *)rows};

    if (!session->id)
        return -EPROTO;
    const struct kept_place *place = kept_paths_find(worker->box->kept_paths, asked->other,
                                                     session->grant.devices[0]->uuid,
                                                     asked->transport);
    for (const struct path_row *row = NULL; place && (row = kept_paths_next_row(place, row));)
        if (path_use_is_between_boxes(row->use)) {
            memcpy((uint8_t *)rows + known.rows_size, row, sizeof(*row));
            known.rows_size += (uint32_t)sizeof(*row);
        }
    return control_send_packet(worker->control_fd, CONTROL_PATHS_KNOWN, &known, -1);
}

// Gives the rows of all transports, since the client has not chosen one yet.
void kept_paths_give(struct box *box, const char *peer, const struct session_grant *session,
                     struct control_grant *grant)
{
    struct kept_paths *paths = box->kept_paths;
    struct wire_paths head = {.forced = (uint32_t)path_parse(box->settings.paths)};
    size_t used = sizeof(head);
    struct kept_place *place;
    char host[64];

    memcpy(paths->section, &head, sizeof(head));
    kept_paths_host_of(peer, host, sizeof(host));
    TAILQ_FOREACH(place, &paths->list, link) {
        if (strcmp(place->host, host) || strcmp(place->gpu, session->devices[0]->uuid))
            continue;
        for (const struct path_row *row = NULL; (row = kept_paths_next_row(place, row));) {
            struct path_kept kept = {.row = *row};
            if (path_use_is_between_boxes(row->use))
                continue;
            memcpy(kept.transport, place->transport, sizeof(kept.transport));
            if (used + sizeof(kept) > sizeof(paths->section))
                break;
            memcpy(paths->section + used, &kept, sizeof(kept));
            used += sizeof(kept);
        }
    }
    grant->paths = paths->section;
    grant->paths_size = (uint32_t)used;
}

// ---- output for people ----

static json_t *kept_paths_describe(const struct kept_place *place, const struct path_row *row)
{
    json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s}", "host", place->host, "gpu",
                             place->gpu, "transport", place->transport, "copies",
                             path_use_names[row->use], "pattern", path_pattern_names[row->pattern],
                             "size", (json_int_t)1 << row->size, "path", path_names[row->chosen]);

    for (unsigned i = 0; line && i < PATHS; i++)
        if (row->ns[i])
            json_object_set_new(line, path_names[i], json_real(row->ns[i] / 1000.0));
    return line;
}

void kept_paths_show(const struct box *box, void (*show)(struct evbuffer *out, json_t *row),
                     struct evbuffer *out)
{
    const struct kept_place *place;

    TAILQ_FOREACH(place, &box->kept_paths->list, link)
        for (const struct path_row *row = NULL; (row = kept_paths_next_row(place, row));)
            show(out, kept_paths_describe(place, row));
}

// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/overview.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/explain.h"
#include "broker/pool/names.h"
#include "broker/pool/pool_figures.h"
#include "broker/pool/queue.h"
#include "common/base/clock.h"
#include "common/base/scope.h"
#include "broker/api/view.h"

enum { MAP_SHOWN = 1000, PROBLEMS_SHOWN = 50, EVENTS_SHOWN = 30, EVENTS_READ = 150 };

#define HEAD_SECONDS 1.0 // an answer up to this age is used again, even if events have happened

struct overview {
    struct names *names;
    json_t *figures, *problems, *events;
    int64_t event;
    double made; // 0: never
    size_t problem_count;
};

struct overview *overview_new(void)
{
    struct overview *overview = calloc(1, sizeof(*overview));

    if (!overview)
        return NULL;
    overview->names = names_new();
    return overview;
}

static void forget_head(struct overview *overview)
{
    json_decref(overview->figures);
    json_decref(overview->problems);
    json_decref(overview->events);
    overview->figures = overview->problems = overview->events = NULL;
    overview->problem_count = 0;
}

void overview_free(struct overview **overview)
{
    if (!*overview)
        return;
    names_free(&(*overview)->names);
    forget_head(*overview);
    free(*overview);
    *overview = NULL;
}

// ---- the head: figures, problems, events ----

__attribute__((format(printf, 3, 4))) static void
add_problem(struct overview *overview, const char *what, const char *format, ...)
{
    char why[300];
    va_list arguments;

    if (overview->problem_count++ >= PROBLEMS_SHOWN)
        return;
    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    json_array_append_new(overview->problems, json_pack("{s:s, s:s}", "what", what, "why", why));
}

static void add_box_problems(struct overview *overview, struct pool_box *box)
{
    double silent = clock_boot_seconds() - box->heard;

    if (!box->connected)
        add_problem(overview, box->name, "away, not heard for %.0f s; leases hold %u GPUs there",
                    silent, box->holders);
    else if (box->hung_up)
        add_problem(overview, box->name, "silent, its connection is closed; not heard for %.0f s",
                    silent);
    if (box->impostor)
        add_problem(overview, box->name, "somebody else would register under its name");
    box_count_free(box);
    for (uint32_t i = 0; box->missing && i < box->gpu_count; i++)
        if (!box->gpus[i]->present)
            add_problem(overview, box->name, "GPU %u is missing: %s", box->gpus[i]->index,
                        box->gpus[i]->uuid);
}

// A GPU of a drained box is not named for itself.
static void add_drain_problems(struct overview *overview, const struct pool_box *box)
{
    if (box->drained)
        add_problem(overview, box->name, "drained: %s",
                    box->drain.reason ? box->drain.reason : "no reason given");
    for (uint32_t i = 0; !box->drained && i < box->gpu_count; i++)
        if (box->gpus[i]->drained)
            add_problem(overview, box->name, "GPU %u is drained: %s", box->gpus[i]->index,
                        box->gpus[i]->drain.reason ? box->gpus[i]->drain.reason
                                                   : "no reason given");
}

static void add_problems(struct overview *overview, const struct broker *broker)
{
    const struct queue_class *entry;
    enum outcome storage = broker_problem(broker);

    if (storage)
        add_problem(overview, "broker", "%s: %s", outcomes[storage].code, outcomes[storage].text);
    if (broker->keys.count == 0)
        add_problem(overview, "broker", "it has no cluster key and issues no tickets");
    for (size_t i = 0; i < broker->pool->box_count; i++)
        add_box_problems(overview, broker->pool->boxes[i]);
    // Problems that end by themselves come after those that do not.
    for (size_t i = 0; i < broker->pool->box_count; i++)
        if (!broker->pool->boxes[i]->settled &&
            !strcmp(view_box_state(broker->pool->boxes[i]), "settling"))
            add_problem(overview, broker->pool->boxes[i]->name,
                        "settling, it has not said that it runs no sessions that are to end");
    TAILQ_FOREACH(entry, &broker->pool->queue->classes, all)
        if (entry->impossible)
            add_problem(overview, TAILQ_FIRST(&entry->waiting)->id,
                        "waits for what the pool has no longer");
    for (size_t i = 0; i < broker->pool->box_count; i++)
        add_drain_problems(overview, broker->pool->boxes[i]);
}

static json_t *count_figures(const struct pool *pool)
{
    size_t up = 0, free_gpus = 0;

    for (size_t i = 0; i < pool->box_count; i++) {
        struct pool_box *box = pool->boxes[i];
        up += box->connected;
        box_count_free(box);
        free_gpus += box_usable(box) ? box->unheld : 0;
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "boxes", (json_int_t)pool->box_count,
                     "boxes_connected", (json_int_t)up, "gpus", (json_int_t)pool->gpu_count, "free",
                     (json_int_t)free_gpus, "leases",
                     (json_int_t)(pool->lease_count - pool->queue->length), "waiting",
                     (json_int_t)pool->queue->length);
}

// Adds the name of the user that BY, the author of an event, names by number.
static void add_user(const struct overview *overview, json_t *object, const char *by)
{
    const char *uid = by ? strstr(by, "uid=") : NULL;

    if (uid)
        json_object_set_new(object, "user",
                            json_string(names_of(overview->names, (uid_t)atol(uid + 4))));
}

void overview_name_users(const struct overview *overview, json_t *events)
{
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event) {
        json_t *detail = json_object_get(event, "detail"),
               *owner = json_object_get(detail, "owner");
        add_user(overview, event, json_string_value(json_object_get(event, "actor")));
        if (owner)
            json_object_set_new(detail, "user",
                                json_string(
                                    names_of(overview->names, (uid_t)json_integer_value(owner))));
    }
}

// Frequent events without a user's or administrator's action are left out.
static bool is_noise(const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));

    return kind && (!strcmp(kind, "lease.renewed") || !strcmp(kind, "ticket.issued") ||
                    !strcmp(kind, "lease.freed") || !strcmp(kind, "lease.ending"));
}

// The newest first.
static json_t *recent_events(const struct broker *broker)
{
    json_t *shown = json_array(), *events;
    int64_t after = broker->last_event > EVENTS_READ ? broker->last_event - EVENTS_READ : 0;

    events = store_events(broker->store, after, EVENTS_READ);
    for (size_t i = json_array_size(events); i-- > 0 && json_array_size(shown) < EVENTS_SHOWN;)
        if (!is_noise(json_array_get(events, i)))
            json_array_append(shown, json_array_get(events, i));
    json_decref(events);
    return shown;
}

static void make_head(struct overview *overview, const struct broker *broker)
{
    if (overview->made > 0 && clock_boot_seconds() - overview->made < HEAD_SECONDS)
        return;
    forget_head(overview);
    overview->problems = json_array();
    overview->figures = count_figures(broker->pool);
    overview->events = recent_events(broker);
    overview_name_users(overview, overview->events);
    add_problems(overview, broker);
    overview->event = broker->last_event;
    overview->made = clock_boot_seconds();
}

// ---- lists ----

// Takes the rows from `first` on out of those that are offered one after the other.
struct window {
    size_t first, limit, count;
    json_t *rows;
};

static bool overview_is_shown(struct window *window)
{
    size_t place = window->count++;

    return place >= window->first && place - window->first < window->limit;
}

static json_t *window_close(struct window *window)
{
    return json_pack("{s:I, s:o}", "count", (json_int_t)window->count, "rows", window->rows);
}

// A text that begins with = is a whole name.
static bool overview_has(const char *text, const char *find)
{
    return text && (*find == '=' ? !strcasecmp(text, find + 1) : strcasestr(text, find) != NULL);
}

static bool box_has(const struct pool_box *box, const char *find)
{
    if (!*find || overview_has(box->name, find) || overview_has(box->addresses, find) ||
        overview_has(box->locality, find) || overview_has(view_box_state(box), find) ||
        overview_has(box->drain.reason, find))
        return true;
    for (uint32_t i = 0; i < box->gpu_count; i++)
        if (overview_has(box->gpus[i]->model, find) || overview_has(box->gpus[i]->uuid, find) ||
            overview_has(box->gpus[i]->drain.reason, find))
            return true;
    return false;
}

static bool lease_has(const struct overview *overview, const struct pool_lease *lease,
                      const char *find)
{
    if (!*find || overview_has(lease->id, find) || overview_has(lease->job, find) ||
        overview_has(lease_state_names[lease->state], find) ||
        overview_has(names_of(overview->names, lease->owner), find))
        return true;
    for (size_t i = 0; i < lease->hold_count; i++)
        if (overview_has(lease->holds[i].box->name, find))
            return true;
    return false;
}

// Adds the name of the user who drained the box or GPU.
static json_t *with_name(const struct overview *overview, json_t *row)
{
    json_t *drain = json_object_get(row, "drain");

    add_user(overview, drain, json_string_value(json_object_get(drain, "by")));
    return row;
}

static json_t *overview_show_box(const struct overview *overview, const struct pool_box *box)
{
    json_t *row = with_name(overview, view_box(box)), *gpus = json_array();

    for (uint32_t i = 0; i < box->gpu_count; i++)
        json_array_append_new(gpus, with_name(overview, view_gpu(box->gpus[i])));
    json_object_set_new(row, "gpu_list", gpus);
    return row;
}

// Returns a digit, tens of percent for which a held GPU is busy, or else the first letter of its
// state, such as f for free.
static char map_letter(const struct pool_gpu *gpu)
{
    const char *state = view_gpu_state(gpu);
    double busy;

    if (strcmp(state, "used") != 0 || !pool_figures_get(gpu, FIGURE_UTILIZATION, &busy))
        return *state;
    return busy < 100 ? (char)('0' + (int)(busy / 10)) : '9';
}

static json_t *map_box(const struct pool_box *box)
{
    char gpus[TICKET_GPUS_MAX + 1];
    uint32_t count = 0;

    for (; count < box->gpu_count && count < TICKET_GPUS_MAX; count++)
        gpus[count] = map_letter(box->gpus[count]);
    gpus[count] = '\0';
    return json_pack("[s, s, s]", box->name, view_box_state(box), gpus);
}

static int compare_box_names(const void *one, const void *other)
{
    return strverscmp((*(struct pool_box *const *)one)->name,
                      (*(struct pool_box *const *)other)->name);
}

// Fills one of the windows, in the order of the boxes' names, in which box9 comes before box10.
static void walk_boxes(const struct overview *overview, const struct pool *pool, const char *find,
                       struct window *rows, struct window *map)
{
    SCOPED_FREE struct pool_box **boxes = calloc(pool->box_count + 1, sizeof(struct pool_box *));

    for (size_t i = 0; boxes && i < pool->box_count; i++)
        boxes[i] = pool->boxes[i];
    if (boxes)
        qsort(boxes, pool->box_count, sizeof(struct pool_box *), compare_box_names);
    for (size_t i = 0; boxes && i < pool->box_count; i++) {
        if (!box_has(boxes[i], find))
            continue;
        if (overview_is_shown(rows))
            json_array_append_new(rows->rows, overview_show_box(overview, boxes[i]));
        if (overview_is_shown(map))
            json_array_append_new(map->rows, map_box(boxes[i]));
    }
}

static json_t *show_leases(const struct overview *overview, const struct pool *pool,
                           const struct overview_query *query, bool waiting)
{
    struct window window = {waiting ? query->waiting : query->leases, query->limit, 0,
                            json_array()};
    const struct pool_lease *lease;
    char pending[EXPLAIN_MAX];

    TAILQ_FOREACH(lease, &pool->leases, all) {
        json_t *row;

        if ((lease->state == LEASE_QUEUED) != waiting || !lease_has(overview, lease, query->find) ||
            !overview_is_shown(&window))
            continue;
        row = view_lease(lease, false);
        json_object_set_new(row, "user", json_string(names_of(overview->names, lease->owner)));
        if (waiting) {
            explain_lease(pool, lease, pending);
            json_object_set_new(row, "pending", json_string(pending));
        }
        json_array_append_new(window.rows, row);
    }
    return window_close(&window);
}

static bool session_has(const char *box, const json_t *session, const char *find)
{
    return !*find || overview_has(box, find) ||
           overview_has(json_string_value(json_object_get(session, "lease")), find) ||
           overview_has(json_string_value(json_object_get(session, "client")), find) ||
           overview_has(json_string_value(json_object_get(session, "transport")), find);
}

static json_t *show_sessions(json_t *by_box, const struct overview_query *query)
{
    struct window window = {query->sessions, query->limit, 0, json_array()};
    json_t *sessions, *session;
    const char *box;
    size_t i;

    json_object_foreach(by_box, box, sessions)
        json_array_foreach(sessions, i, session) {
            json_t *row;

            if (!session_has(box, session, query->find) || !overview_is_shown(&window))
                continue;
            row = json_copy(session);
            json_object_set_new(row, "box", json_string(box));
            json_array_append_new(window.rows, row);
        }
    return window_close(&window);
}

json_t *overview_answer(struct overview *overview, const struct broker *broker, json_t *sessions,
                        const struct overview_query *query)
{
    const struct pool *pool = broker->pool;
    struct window boxes = {query->boxes, query->limit, 0, json_array()};
    struct window map = {0, query->map ? MAP_SHOWN : 0, 0, json_array()};
    json_t *answer;

    make_head(overview, broker);
    walk_boxes(overview, pool, query->find, &boxes, &map);
    answer = json_pack("{s:I, s:I, s:O, s:{s:I, s:O}, s:{s:I, s:O}, s:o, s:o, s:o, s:o}", "last",
                       (json_int_t)overview->event, "time", (json_int_t)clock_wall_seconds(),
                       "figures", overview->figures, "problems", "count",
                       (json_int_t)overview->problem_count, "rows", overview->problems, "events",
                       "count", (json_int_t)json_array_size(overview->events), "rows",
                       overview->events, "waiting", show_leases(overview, pool, query, true),
                       "boxes", window_close(&boxes), "leases",
                       show_leases(overview, pool, query, false), "sessions",
                       show_sessions(sessions, query));
    if (query->map)
        json_object_set_new(answer, "map", window_close(&map));
    else
        json_decref(map.rows);
    return answer;
}

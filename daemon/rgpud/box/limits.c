// SPDX-License-Identifier: BSD-3-Clause
// A lease may take half of the box's resources and a session a quarter, so that no single client
// can exhaust them.
#include "daemon/rgpud/box/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>

#include "common/base/assert.h"
#include "common/base/log_limit.h"
#include "common/service/metrics.h"
#include "daemon/rgpud/box/box_settings.h"

enum { LEASE_PART = 2, SESSION_PART = 4, FILES_PART = 4 };

static uint64_t most_exports(const struct box_settings *settings)
{
    return 65536;
}

// Returns a part of this process's limit of open descriptors. The rest is for clients and workers.
static uint64_t most_export_files(const struct box_settings *settings)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (uint64_t)limit.rlim_cur / FILES_PART;
}

static uint64_t most_rendezvous(const struct box_settings *settings)
{
    return 1024;
}

static uint64_t most_waiting(const struct box_settings *settings)
{
    return (uint64_t)settings->max_queued;
}

static uint64_t most_peer_calls(const struct box_settings *settings)
{
    return 64;
}

static const struct limit_row {
    const char *name; // in metrics, the log and docs/admin/security.md
    // the limit of the box; those of leases and sessions are fractions of it
    uint64_t (*of_box)(const struct box_settings *settings);
    const char *refusal;
} rows[] = {
    [LIMITED_EXPORTS] = {"exports", most_exports, "memory or event is not shared"},
    [LIMITED_EXPORT_FILES] = {"export-files", most_export_files,
                              "memory that needs a descriptor is not shared"},
    [LIMITED_RENDEZVOUS] = {"rendezvous", most_rendezvous,
                            "a process does not look for others of its lease"},
    [LIMITED_WAITING] = {"waiting-clients", most_waiting, "a client does not wait"},
    [LIMITED_PEER_CALLS] = {"peer-calls", most_peer_calls, "another box or worker is not called"},
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == LIMITED_RESOURCES, "a row for each");

struct limit_holder {
    TAILQ_ENTRY(limit_holder) link;
    uint64_t session;
    char lease[128];
    uint64_t taken[LIMITED_RESOURCES];
};

struct limits {
    TAILQ_HEAD(, limit_holder) holders; // few: one for each session with resources
    const struct box_settings *settings;
    uint64_t taken[LIMITED_RESOURCES];
    uint64_t refused[LIMITED_RESOURCES][LIMIT_OF_BOX + 1];
};

struct limits *limits_new(const struct box_settings *settings)
{
    struct limits *limits = calloc(1, sizeof(*limits));

    if (!limits)
        return NULL;
    TAILQ_INIT(&limits->holders);
    limits->settings = settings;
    return limits;
}

void limits_free(struct limits **limits)
{
    struct limit_holder *holder;

    if (!*limits)
        return;
    while ((holder = TAILQ_FIRST(&(*limits)->holders))) {
        TAILQ_REMOVE(&(*limits)->holders, holder, link);
        free(holder);
    }
    free(*limits);
    *limits = NULL;
}

const char *limits_level_name(enum limit_level level)
{
    static const char *const names[] = {"none", "session", "lease", "box"};

    return names[level];
}

uint64_t limits_most(const struct limits *limits, enum limited_resource resource,
                     enum limit_level level)
{
    uint64_t most = rows[resource].of_box(limits->settings);
    uint64_t part = level == LIMIT_OF_SESSION ? SESSION_PART
                    : level == LIMIT_OF_LEASE ? LEASE_PART
                                              : 1;

    return most < part ? 1 : most / part;
}

static struct limit_holder *limits_find(struct limits *limits, uint64_t session)
{
    struct limit_holder *holder;

    TAILQ_FOREACH(holder, &limits->holders, link)
        if (holder->session == session)
            return holder;
    return NULL;
}

static uint64_t taken_by_lease(const struct limits *limits, enum limited_resource resource,
                               uint64_t session, const char *lease)
{
    const struct limit_holder *holder;
    uint64_t sum = 0;

    TAILQ_FOREACH(holder, &limits->holders, link)
        if (*lease ? !strcmp(holder->lease, lease) : holder->session == session)
            sum += holder->taken[resource];
    return sum;
}

static enum limit_level level_reached(const struct limits *limits, enum limited_resource resource,
                                      const struct limit_holder *holder)
{
    if (holder->taken[resource] >= limits_most(limits, resource, LIMIT_OF_SESSION))
        return LIMIT_OF_SESSION;
    if (taken_by_lease(limits, resource, holder->session, holder->lease) >=
        limits_most(limits, resource, LIMIT_OF_LEASE))
        return LIMIT_OF_LEASE;
    return limits->taken[resource] >= limits_most(limits, resource, LIMIT_OF_BOX) ? LIMIT_OF_BOX
                                                                                  : LIMIT_OF_NONE;
}

static bool limits_is_empty(const struct limit_holder *holder)
{
    for (int i = 0; i < LIMITED_RESOURCES; i++)
        if (holder->taken[i])
            return false;
    return true;
}

static void drop_empty(struct limits *limits, struct limit_holder *holder)
{
    if (!limits_is_empty(holder))
        return;
    TAILQ_REMOVE(&limits->holders, holder, link);
    free(holder);
}

static struct limit_holder *limits_find_or_make(struct limits *limits, uint64_t session,
                                                const char *lease)
{
    struct limit_holder *holder = limits_find(limits, session);

    if (!holder && (holder = calloc(1, sizeof(*holder)))) {
        holder->session = session;
        snprintf(holder->lease, sizeof(holder->lease), "%s", lease);
        TAILQ_INSERT_TAIL(&limits->holders, holder, link);
    }
    return holder;
}

static void note_refusal(struct limits *limits, enum limited_resource resource,
                         const struct limit_holder *holder, enum limit_level level)
{
    static struct log_limit lines = LOG_LIMIT(5, 60);

    limits->refused[resource][level]++;
    log_limited(&lines, LOG_LEVEL_WARN,
                "session=%llu lease=%s: %s, since the limit is reached resource=%s of=%s most=%llu",
                (unsigned long long)holder->session, *holder->lease ? holder->lease : "none",
                rows[resource].refusal, rows[resource].name, limits_level_name(level),
                (unsigned long long)limits_most(limits, resource, level));
}

enum limit_level limits_take(struct limits *limits, enum limited_resource resource,
                             uint64_t session, const char *lease, struct limit_holder **out)
{
    struct limit_holder *holder = limits_find_or_make(limits, session, lease);

    if (!holder)
        return LIMIT_OF_BOX;
    enum limit_level level = level_reached(limits, resource, holder);
    if (level) {
        note_refusal(limits, resource, holder, level);
        drop_empty(limits, holder);
        return level;
    }
    holder->taken[resource]++;
    limits->taken[resource]++;
    *out = holder;
    return LIMIT_OF_NONE;
}

void limits_give(struct limits *limits, enum limited_resource resource,
                 struct limit_holder **holder)
{
    RGPU_ASSERT((*holder)->taken[resource] && limits->taken[resource]);
    (*holder)->taken[resource]--;
    limits->taken[resource]--;
    drop_empty(limits, *holder);
    *holder = NULL;
}

void limits_put(FILE *out, const struct limits *limits)
{
    metrics_describe(out, "box_limit_taken", "gauge", "What clients have taken of a resource.");
    for (int i = 0; i < LIMITED_RESOURCES; i++)
        metrics_put_sample(out, "box_limit_taken",
                           (const char *const[][2]){{"resource", rows[i].name}}, 1,
                           (double)limits->taken[i]);
    metrics_describe(out, "box_limit_most", "gauge", "What all clients together may take of it.");
    for (int i = 0; i < LIMITED_RESOURCES; i++)
        metrics_put_sample(out, "box_limit_most",
                           (const char *const[][2]){{"resource", rows[i].name}}, 1,
                           (double)limits_most(limits, (enum limited_resource)i, LIMIT_OF_BOX));
    metrics_describe(out, "box_limit_refusals_total", "counter",
                     "Refusals, by the level whose limit was reached.");
    for (int i = 0; i < LIMITED_RESOURCES; i++)
        for (int level = LIMIT_OF_SESSION; level <= LIMIT_OF_BOX; level++)
            metrics_put_sample(
                out, "box_limit_refusals_total",
                (const char *const[][2]){{"resource", rows[i].name},
                                         {"level", limits_level_name((enum limit_level)level)}},
                2, (double)limits->refused[i][level]);
}

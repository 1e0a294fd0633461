// SPDX-License-Identifier: BSD-3-Clause
// Functions of the broker's client for leases and tickets.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/broker_client.h"
#include "common/base/scope.h"
#include "common/base/units.h"

// ---- constraints ----

// "8.0", or "8" for it.
static int set_capability(json_t *request, const char *text)
{
    unsigned major, minor = 0;
    int end = 0;

    if (sscanf(text, "%2u%n", &major, &end) != 1 || *text < '0' || *text > '9')
        return -EINVAL;
    if (text[end] == '.' && (text[end + 1] < '0' || text[end + 1] > '9' || text[end + 2]))
        return -EINVAL;
    if (text[end] == '.')
        minor = (unsigned)(text[end + 1] - '0');
    else if (text[end])
        return -EINVAL;
    return json_object_set_new(request, "min_capability", json_integer(10 * major + minor));
}

// Each is a further degree of nearness.
static int add_near(json_t *request, const char *places)
{
    json_t *list = json_object_get(request, "near");

    if (!*places)
        return -EINVAL;
    if (!list && json_object_set_new(request, "near", list = json_array()))
        return -ENOMEM;
    return json_array_append_new(list, json_string(places));
}

// "25%" or "25".
static int set_compute(json_t *request, const char *text)
{
    char *end;
    long percent = strtol(text, &end, 10);

    if (end == text || (*end && strcmp(end, "%") != 0) || percent < 1 || percent > 100)
        return -EINVAL;
    return json_object_set_new(request, "compute", json_integer(percent));
}

static int set_constraint(json_t *request, const char *name, const char *value)
{
    static const char *const patterns[] = {"model", "box", "locality", "policy", "protection"};
    uint64_t bytes;

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (!strcmp(name, patterns[i]))
            return value && *value ? json_object_set_new(request, name, json_string(value))
                                   : -EINVAL;
    if (!strcmp(name, "min-memory") && value && units_parse_size(value, &bytes) == 0)
        return json_object_set_new(request, "min_memory", json_integer((json_int_t)bytes));
    if (!strcmp(name, "min-capability") && value)
        return set_capability(request, value);
    if (!strcmp(name, "compute") && value)
        return set_compute(request, value);
    if (!strcmp(name, "near") && value)
        return add_near(request, value);
    if (!strcmp(name, "index") && value && *value && strspn(value, "0123456789") == strlen(value))
        return json_object_set_new(request, name, json_integer(atol(value)));
    if (!strcmp(name, "drained") && !value)
        return json_object_set_new(request, name, json_true());
    if (!strcmp(name, "same-box") && !value)
        return json_object_set_new(request, "same_box", json_true());
    if (!strcmp(name, "different-boxes") && !value)
        return json_object_set_new(request, "different_boxes", json_true());
    return -EINVAL;
}

int broker_request_constrain(json_t *request, const char *text, char *bad, size_t size)
{
    SCOPED_FREE char *copy = strdup(text ? text : "");
    char *position = NULL;

    if (!copy)
        return -ENOMEM;
    for (char *word = strtok_r(copy, ",", &position); word; word = strtok_r(NULL, ",", &position)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (set_constraint(request, word, value) != 0) {
            snprintf(bad, size, "%s%s%s", word, value ? "=" : "", value ? value : "");
            return -EINVAL;
        }
    }
    return 0;
}

// ---- leases ----

int broker_acquire_request(const struct broker_acquire *acquire, json_t **out, char *bad,
                           size_t size)
{
    bool shared = acquire->mode && !strcmp(acquire->mode, "shared");
    json_t *part = json_pack("{s:I, s:s}", "count", (json_int_t)acquire->count, "mode",
                             acquire->mode ? acquire->mode : "exclusive");
    json_t *request = json_pack("{s:[o]}", "gpus", part);
    int error;

    if (!request)
        return -ENOMEM;
    if (acquire->memory)
        json_object_set_new(shared ? part : request, shared ? "memory" : "min_memory",
                            json_integer((json_int_t)acquire->memory));
    if (acquire->protection)
        json_object_set_new(request, "protection", json_string(acquire->protection));
    error = broker_request_constrain(request, acquire->constraint, bad, size);
    if (!error && acquire->compute && set_compute(request, acquire->compute)) {
        snprintf(bad, size, "compute=%s", acquire->compute);
        error = -EINVAL;
    }
    if (!error && acquire->near && *acquire->near && !json_object_get(request, "near"))
        error = broker_request_constrain(request, acquire->near, bad, size);
    if (error)
        json_decref(request);
    else
        *out = request;
    return error;
}

// Every answer about a lease names the lease and its state; one that does not is not a broker's.
static int read_lease(struct broker_client *client, const json_t *answer,
                      struct broker_lease *lease)
{
    const json_t *object = json_object_get(answer, "lease");
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *state = json_string_value(json_object_get(object, "state"));
    const char *pending = json_string_value(json_object_get(object, "pending"));
    const char *ticket = json_string_value(json_object_get(answer, "ticket"));

    if (!id || !*id || strlen(id) >= sizeof(lease->id) || !state || !*state ||
        strlen(state) >= sizeof(lease->state))
        return broker_client_explain(client, -EPROTO, "%s answered without a lease",
                                     broker_client_address(client));
    strcpy(lease->id, id);
    strcpy(lease->state, state);
    snprintf(lease->pending, sizeof(lease->pending), "%s", pending ? pending : "");
    lease->ticket = ticket ? strdup(ticket) : NULL;
    lease->gpus = json_incref(json_object_get(object, "gpus"));
    return 0;
}

int broker_client_acquire(struct broker_client *client, const struct broker_acquire *acquire,
                          struct broker_lease *lease)
{
    json_t *request, *body, *answer;
    char bad[128];
    int error = broker_acquire_request(acquire, &request, bad, sizeof(bad));

    if (error == -EINVAL)
        return broker_client_explain(
            client, error, "constraint \"%s\" is not understood; there are " BROKER_CONSTRAINTS,
            bad);
    if (error)
        return error;
    body = json_pack("{s:o, s:I, s:I, s:b, s:b}", "request", request, "owner",
                     (json_int_t)acquire->owner, "lifetime", (json_int_t)acquire->lifetime, "queue",
                     acquire->queue, "ticket", acquire->ticket);
    if (acquire->key)
        json_object_set_new(body, "key", json_string(acquire->key));
    if (acquire->job)
        json_object_set_new(body, "job", json_string(acquire->job));
    if (acquire->account && *acquire->account)
        json_object_set_new(body, "account", json_string(acquire->account));
    error = broker_client_call(client, "POST", "/v1/leases", body, &answer);
    json_decref(body);
    if (error)
        return error;
    error = read_lease(client, answer, lease);
    json_decref(answer);
    return error;
}

int broker_client_await(struct broker_client *client, const char *id, unsigned seconds,
                        struct broker_lease *lease)
{
    char path[160];
    json_t *answer;
    int error;

    snprintf(path, sizeof(path), "/v1/leases/%s?wait=%u", id, seconds);
    error = broker_client_call_for(client, (seconds + 10) * 1000, "GET", path, NULL, &answer);
    if (error)
        return error;
    error = read_lease(client, answer, lease);
    json_decref(answer);
    return error;
}

int broker_client_ticket(struct broker_client *client, const char *id, const char *key,
                         uint64_t seconds, char **bundle)
{
    return broker_client_ask_ticket(client,
                                    json_pack("{s:s, s:I}", id ? "lease" : "key", id ? id : key,
                                              "lifetime", (json_int_t)seconds),
                                    bundle);
}

int broker_client_ask_ticket(struct broker_client *client, json_t *body, char **bundle)
{
    json_t *answer;
    const char *ticket;
    int error = broker_client_call(client, "POST", "/v1/tickets", body, &answer);

    json_decref(body);
    if (error)
        return error;
    ticket = json_string_value(json_object_get(answer, "ticket"));
    *bundle = ticket ? strdup(ticket) : NULL;
    json_decref(answer);
    return *bundle ? 0 : -EPROTO;
}

int broker_client_release(struct broker_client *client, const char *id)
{
    char path[128];

    snprintf(path, sizeof(path), "/v1/leases/%s", id);
    return broker_client_call(client, "DELETE", path, NULL, NULL);
}

int broker_client_release_key(struct broker_client *client, const char *key)
{
    json_t *body = json_pack("{s:s}", "key", key);
    int error = broker_client_call(client, "POST", "/v1/leases/release", body, NULL);

    json_decref(body);
    return error;
}

int broker_client_renew(struct broker_client *client, const char *id, uint64_t seconds)
{
    json_t *body = json_pack("{s:I}", "lifetime", (json_int_t)seconds);
    char path[128];
    int error;

    snprintf(path, sizeof(path), "/v1/leases/%s/renew", id);
    error = broker_client_call(client, "POST", path, body, NULL);
    json_decref(body);
    return error;
}

void broker_lease_clear(struct broker_lease *lease)
{
    if (lease->ticket)
        explicit_bzero(lease->ticket, strlen(lease->ticket));
    free(lease->ticket);
    json_decref(lease->gpus);
    *lease = (struct broker_lease){0};
}

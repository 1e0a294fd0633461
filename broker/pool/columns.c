// SPDX-License-Identifier: BSD-3-Clause
// Tables of the columns, and conversion of their values.
#include "broker/pool/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/request.h"

#define MEMBER(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define COLUMN(type, member, of_kind, in_roles) \
    { \
        .name = #member, .kind = COLUMN_##of_kind, .roles = in_roles, MEMBER(type, member) \
    }
#define NAMED(type, member, of_names, in_roles) \
    { \
        .name = #member, .kind = COLUMN_NAME, .roles = in_roles, .names = of_names, \
        MEMBER(type, member) \
    }

enum {
    CHANGES = COLUMN_CHANGES,
    SAID = COLUMN_SAID,
    SHOWN = COLUMN_SHOWN,
    ENDED = COLUMN_SHOWN_ENDED,
    OPTIONAL = COLUMN_OPTIONAL,
    ASKED = COLUMN_ASKED,
    STEERED = COLUMN_STEERED,
};

#define DRAIN(type, of_member, of_kind) \
    { \
        .name = "drain_" #of_member, .kind = COLUMN_##of_kind, .roles = STEERED, \
        MEMBER(type, drain.of_member) \
    }
#define DRAINS(type) DRAIN(type, reason, TEXT), DRAIN(type, by, TEXT), DRAIN(type, since, NUMBER)

#define BOX(...) COLUMN(struct pool_box, __VA_ARGS__)
const struct column box_columns[] = {
    BOX(name, CHARS, SHOWN),
    BOX(addresses, CHARS, SAID | SHOWN),
    BOX(locality, CHARS, SAID | SHOWN),
    BOX(transports, CHARS, SAID | SHOWN),
    BOX(version, CHARS, SAID | SHOWN),
    BOX(instance, CHARS, SAID),
    BOX(drained, FLAG, SHOWN | STEERED),
    DRAINS(struct pool_box),
    BOX(registered, NUMBER, SAID),
    BOX(seen, NUMBER, SAID | SHOWN),
    {0},
};

#define GPU(...) COLUMN(struct pool_gpu, __VA_ARGS__)
const struct column gpu_columns[] = {
    GPU(uuid, CHARS, SHOWN),
    GPU(box, BOX, SAID | SHOWN),
    {.name = "number", .kind = COLUMN_NUMBER, .roles = SAID, MEMBER(struct pool_gpu, index)},
    GPU(model, MODEL, SAID | SHOWN),
    GPU(capability, NUMBER, SAID | SHOWN),
    GPU(memory, NUMBER, SAID | SHOWN),
    GPU(reserved, NUMBER, SAID | SHOWN),
    GPU(context, NUMBER, SAID | SHOWN),
    NAMED(struct pool_gpu, mode, gpu_mode_names, SHOWN),
    NAMED(struct pool_gpu, sharing, gpu_sharing_names, SAID | SHOWN),
    GPU(parts, FLAG, SAID | SHOWN),
    GPU(overcommit, NUMBER, SAID | SHOWN),
    GPU(drained, FLAG, SHOWN | STEERED),
    DRAINS(struct pool_gpu),
    GPU(present, FLAG, SAID),
    GPU(automatic, FLAG, 0),
    {0},
};

#define LEASE(...) COLUMN(struct pool_lease, __VA_ARGS__)
const struct column lease_columns[] = {
    LEASE(id, CHARS, SHOWN | ENDED),
    LEASE(key, TEXT, SHOWN | ENDED | OPTIONAL | COLUMN_OR_NULL),
    LEASE(key_owner, NUMBER, ENDED),
    LEASE(owner, NUMBER, SHOWN | ENDED),
    LEASE(job, CHARS, SHOWN | ENDED | ASKED),
    NAMED(struct pool_lease, state, lease_state_names, SHOWN | ENDED | CHANGES),
    LEASE(request, REQUEST, SHOWN | ENDED),
    LEASE(lifetime, NUMBER, CHANGES),
    LEASE(created, NUMBER, SHOWN | ENDED),
    LEASE(granted, NUMBER, SHOWN | ENDED | CHANGES),
    LEASE(expires, NUMBER, SHOWN | CHANGES),
    LEASE(ended, NUMBER, ENDED | CHANGES),
    LEASE(ticket_until, NUMBER, CHANGES),
    LEASE(sequence, NUMBER, 0),
    LEASE(reason, TEXT, SHOWN | ENDED | CHANGES | OPTIONAL),
    LEASE(epoch, NUMBER, 0),
    LEASE(account, CHARS, SHOWN | ENDED | ASKED),
    NAMED(struct pool_lease, suspension, lease_suspension_names, SHOWN | CHANGES | OPTIONAL),
    LEASE(idle, FLAG, SHOWN | CHANGES),
    {0},
};

#define HOLD(...) COLUMN(struct pool_hold, __VA_ARGS__)
const struct column hold_columns[] = {
    HOLD(gpu, GPU, SHOWN | ENDED),
    HOLD(box, BOX, SHOWN | ENDED),
    HOLD(ordinal, NUMBER, SHOWN | ENDED),
    NAMED(struct pool_hold, mode, gpu_mode_names, SHOWN | ENDED),
    HOLD(memory, NUMBER, SHOWN | ENDED),
    HOLD(context, NUMBER, 0),
    HOLD(held, FLAG, SHOWN),
    HOLD(target, GPU, SHOWN | OPTIONAL),
    HOLD(moved, FLAG, 0),
    {0},
};

// ---- members ----

static int64_t get_number(const struct column *column, const void *member)
{
    switch (column->size) {
    case 1: return *(const uint8_t *)member;
    case 2: return *(const uint16_t *)member;
    case 4: return *(const uint32_t *)member;
    default: return *(const int64_t *)member;
    }
}

static void columns_set_number(const struct column *column, int64_t number, void *member)
{
    switch (column->size) {
    case 1: *(uint8_t *)member = (uint8_t)number; return;
    case 2: *(uint16_t *)member = (uint16_t)number; return;
    case 4: *(uint32_t *)member = (uint32_t)number; return;
    default: *(int64_t *)member = number;
    }
}

static const char *get_text(const void *member)
{
    const char *text = *(char *const *)member;

    return text ? text : "";
}

static const char *columns_get_uuid(const void *member)
{
    const struct pool_gpu *gpu = *(struct pool_gpu *const *)member;

    return gpu ? gpu->uuid : "";
}

struct column_value column_get(const struct column *column, const void *thing)
{
    const void *member = (const char *)thing + column->offset;
    struct column_value value = {0};

    switch (column->kind) {
    case COLUMN_NUMBER:
    case COLUMN_FLAG: value.number = get_number(column, member); break;
    case COLUMN_NAME: value.text = column->names[get_number(column, member)]; break;
    case COLUMN_CHARS: value.text = member; break;
    case COLUMN_TEXT:
    case COLUMN_MODEL: value.text = get_text(member); break;
    case COLUMN_BOX: value.text = (*(struct pool_box *const *)member)->name; break;
    case COLUMN_GPU: value.text = columns_get_uuid(member); break;
    case COLUMN_REQUEST: value.text = value.owned = request_to_text(member); break;
    }
    value.is_null = value.text && !*value.text && (column->roles & COLUMN_OR_NULL);
    return value;
}

static enum outcome set_chars(const struct column *column, const char *text, char *member)
{
    size_t length = strnlen(text, column->size - 1);

    memcpy(member, text, length);
    member[length] = '\0';
    return OUTCOME_DONE;
}

static enum outcome set_text(const char *text, char **member)
{
    *member = *text ? strdup(text) : NULL;
    return *text && !*member ? OUTCOME_NO_MEMORY : OUTCOME_DONE;
}

static enum outcome set_name(const struct column *column, const char *text, void *member)
{
    int index = pool_parse_name(column->names, text);

    if (index < 0)
        return OUTCOME_DATABASE_DAMAGED;
    columns_set_number(column, index, member);
    return OUTCOME_DONE;
}

enum outcome column_set(const struct column *column, struct pool *pool,
                        const struct column_value *value, void *thing)
{
    void *member = (char *)thing + column->offset;
    const char *text = value->text ? value->text : "";

    switch (column->kind) {
    case COLUMN_NUMBER:
    case COLUMN_FLAG: columns_set_number(column, value->number, member); return OUTCOME_DONE;
    case COLUMN_NAME: return set_name(column, text, member);
    case COLUMN_CHARS: return set_chars(column, text, member);
    case COLUMN_TEXT: return set_text(text, member);
    case COLUMN_MODEL: *(const char **)member = pool_intern_model(pool, text); return OUTCOME_DONE;
    case COLUMN_BOX: *(struct pool_box **)member = pool_find_box(pool, text); return OUTCOME_DONE;
    case COLUMN_GPU: *(struct pool_gpu **)member = pool_find_gpu(pool, text); return OUTCOME_DONE;
    case COLUMN_REQUEST:
        return request_from_text(text, member) < 0 ? OUTCOME_DATABASE_DAMAGED : OUTCOME_DONE;
    }
    return OUTCOME_DATABASE_DAMAGED;
}

bool columns_ask(const struct column *columns, const json_t *object, void *thing)
{
    for (const struct column *column = columns; column->name; column++) {
        const json_t *given = json_object_get(object, column->name);
        const char *text = json_string_value(given);

        if (!(column->roles & COLUMN_ASKED) || !given || json_is_null(given))
            continue;
        if (!text || strlen(text) >= column->size)
            return false;
        set_chars(column, text, (char *)thing + column->offset);
    }
    return true;
}

// ---- columns that the API shows ----

json_t *column_to_json(const struct column *column, const struct column_value *value)
{
    const char *text = value->text ? value->text : "";

    switch (column->kind) {
    case COLUMN_NUMBER: return json_integer(value->number);
    case COLUMN_FLAG: return json_boolean(value->number);
    case COLUMN_REQUEST: return json_loads(text, 0, NULL);
    case COLUMN_NAME:
    case COLUMN_CHARS:
    case COLUMN_TEXT:
    case COLUMN_MODEL:
    case COLUMN_BOX:
    case COLUMN_GPU: break;
    }
    return (column->roles & COLUMN_OPTIONAL) && !*text ? NULL : json_string(text);
}

void columns_show(const struct column *columns, unsigned role, const void *thing, json_t *object)
{
    for (const struct column *column = columns; column->name; column++) {
        struct column_value value;
        json_t *shown;

        if (!(column->roles & role))
            continue;
        value = column_get(column, thing);
        shown = column_to_json(column, &value);
        if (shown)
            json_object_set_new(object, column->name, shown);
        free(value.owned);
    }
}

static bool is_reference(enum column_kind kind)
{
    return kind == COLUMN_TEXT || kind == COLUMN_BOX || kind == COLUMN_GPU;
}

void columns_copy(const struct column *columns, unsigned role, const void *from, void *to)
{
    for (const struct column *column = columns; column->name; column++)
        if ((column->roles & role) && !is_reference(column->kind))
            memcpy((char *)to + column->offset, (const char *)from + column->offset, column->size);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "broker/pool/plan.h"
#include "control_messages.h"

static bool read_pattern(const json_t *object, const char *name, char *out)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);

    if (!value)
        return true;
    if (!text || strlen(text) >= POOL_PATTERN_MAX)
        return false;
    strcpy(out, text);
    return true;
}

static bool read_flag(const json_t *object, const char *name, bool *out)
{
    const json_t *value = json_object_get(object, name);

    *out = json_is_true(value);
    return !value || json_is_boolean(value);
}

static bool read_protection(const json_t *object, bool *privacy)
{
    const json_t *value = json_object_get(object, "protection");
    const char *name = json_string_value(value);

    *privacy = name && !strcmp(name, control_protection_name(CONTROL_PROTECTION_PRIVACY));
    return !value || *privacy ||
           (name && !strcmp(name, control_protection_name(CONTROL_PROTECTION_AUTHENTICATE)));
}

// A text for each degree of nearness, kept with commas between.
static bool request_read_near(const json_t *object, char near[POOL_NEAR_MAX])
{
    const json_t *list = json_object_get(object, "near"), *entry;
    size_t i, used = 0;

    json_array_foreach(list, i, entry) {
        const char *text = json_string_value(entry);
        size_t length = text ? strlen(text) : 0;

        if (length == 0 || strchr(text, ',') || used + length + 1 >= POOL_NEAR_MAX)
            return false;
        used += (size_t)snprintf(near + used, POOL_NEAR_MAX - used, "%s%s", used ? "," : "", text);
    }
    return !list || json_is_array(list);
}

static json_t *near_to_json(const char *near)
{
    json_t *list = json_array();

    while (*near) {
        size_t length = strcspn(near, ",");
        json_array_append_new(list, json_stringn(near, length));
        near += length + (near[length] == ',');
    }
    return list;
}

static bool read_bytes(const json_t *object, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);

    *out = (uint64_t)json_integer_value(value);
    return !value || (json_is_integer(value) && json_integer_value(value) >= 0);
}

static bool read_part(const json_t *object, struct request_part *part)
{
    const json_t *count = json_object_get(object, "count");
    const json_t *mode = json_object_get(object, "mode");
    int index = mode ? pool_parse_name(gpu_mode_names, json_string_value(mode)) : GPU_EXCLUSIVE;

    if (!json_is_object(object) || index < 0 || (count && !json_is_integer(count)))
        return false;
    if (count && (json_integer_value(count) < 0 || json_integer_value(count) > REQUEST_GPUS_MAX))
        return false;
    part->count = count ? (uint32_t)json_integer_value(count) : 1;
    part->mode = (enum gpu_mode)index;
    return read_bytes(object, "memory", &part->memory);
}

static const char *request_read_members(const json_t *object, struct request *request)
{
    const json_t *gpus = json_object_get(object, "gpus"), *policy;
    uint64_t capability, compute, number;
    int index;

    if (!json_is_object(object) || !json_is_array(gpus) ||
        json_array_size(gpus) > REQUEST_PARTS_MAX)
        return "\"gpus\" must be a list of one to eight parts";
    for (size_t i = 0; i < json_array_size(gpus); i++)
        if (!read_part(json_array_get(gpus, i), &request->parts[request->part_count++]))
            return "a part is {\"count\": N, \"mode\": \"exclusive\"|\"shared\", \"memory\": N}";
    policy = json_object_get(object, "policy");
    index = policy ? pool_parse_name(policy_names, json_string_value(policy)) : POLICY_PACK;
    if (index < 0)
        return "\"policy\" must be \"pack\", \"spread\" or \"best-fit\"";
    request->policy = (enum policy)index;
    if (!read_pattern(object, "model", request->model) ||
        !read_pattern(object, "box", request->box) ||
        !read_pattern(object, "locality", request->locality))
        return "\"model\", \"box\" and \"locality\" are patterns of at most 95 characters";
    if (!read_bytes(object, "min_memory", &request->min_memory))
        return "\"min_memory\" is a number of bytes";
    if (!read_bytes(object, "min_capability", &capability) || capability > UINT8_MAX)
        return "\"min_capability\" is ten times the major number, and the minor: 80 for 8.0";
    request->min_capability = (uint32_t)capability;
    if (!read_bytes(object, "compute", &compute) || compute > 100)
        return "\"compute\" is a number of percent, from 1 to 100";
    request->compute = (uint32_t)compute;
    if (!request_read_near(object, request->near))
        return "\"near\" is a list of places, the nearest first, of 255 characters in all";
    if (!read_flag(object, "same_box", &request->same_box) ||
        !read_flag(object, "different_boxes", &request->different_boxes))
        return "\"same_box\" and \"different_boxes\" are true or false";
    if (!read_flag(object, "drained", &request->drained))
        return "\"drained\" is true or false";
    if (!read_bytes(object, "index", &number) || number > UINT16_MAX)
        return "\"index\" is the number of a GPU on its box";
    request->index = json_object_get(object, "index") ? (uint32_t)number + 1 : 0;
    if (!read_protection(object, &request->privacy))
        return "\"protection\" must be \"authenticate\" or \"privacy\"";
    return NULL;
}

int request_from_json(const json_t *object, struct request *request, const char **why)
{
    struct request out;

    memset(&out, 0, sizeof(out));
    *why = request_read_members(object, &out);
    if (*why || request_check(&out, why) < 0)
        return -EINVAL;
    memcpy(request, &out, sizeof(out));
    return 0;
}

static void set_pattern(json_t *object, const char *name, const char *pattern)
{
    if (*pattern)
        json_object_set_new(object, name, json_string(pattern));
}

json_t *request_to_json(const struct request *request)
{
    json_t *gpus = json_array();
    json_t *object = json_pack("{s:o, s:s}", "gpus", gpus, "policy", policy_names[request->policy]);

    for (uint32_t i = 0; i < request->part_count; i++) {
        const struct request_part *part = &request->parts[i];
        json_t *entry = json_pack("{s:I, s:s}", "count", (json_int_t)part->count, "mode",
                                  gpu_mode_names[part->mode]);
        if (part->memory)
            json_object_set_new(entry, "memory", json_integer((json_int_t)part->memory));
        json_array_append_new(gpus, entry);
    }
    set_pattern(object, "model", request->model);
    set_pattern(object, "box", request->box);
    set_pattern(object, "locality", request->locality);
    if (request->min_memory)
        json_object_set_new(object, "min_memory", json_integer((json_int_t)request->min_memory));
    if (request->min_capability)
        json_object_set_new(object, "min_capability", json_integer(request->min_capability));
    if (request->compute)
        json_object_set_new(object, "compute", json_integer(request->compute));
    if (*request->near)
        json_object_set_new(object, "near", near_to_json(request->near));
    if (request->same_box)
        json_object_set_new(object, "same_box", json_true());
    if (request->different_boxes)
        json_object_set_new(object, "different_boxes", json_true());
    if (request->drained)
        json_object_set_new(object, "drained", json_true());
    if (request->index)
        json_object_set_new(object, "index", json_integer(request->index - 1));
    if (request->privacy)
        json_object_set_new(object, "protection",
                            json_string(control_protection_name(CONTROL_PROTECTION_PRIVACY)));
    return object;
}

// A lease that was released before its acquire arrived has a request without parts.
int request_from_text(const char *text, struct request *request)
{
    json_t *object = json_loads(text, 0, NULL);
    const char *why;
    int error;

    memset(request, 0, sizeof(*request));
    error = request_read_members(object, request) ? -EINVAL : 0;
    if (!error && request->part_count > 0)
        error = request_check(request, &why);
    json_decref(object);
    return error;
}

// Only shares are kept apart by owner. Other requests are one class for all owners.
void request_set_tenant(struct request *request, uid_t owner)
{
    request->tenant = 0;
    for (uint32_t i = 0; i < request->part_count; i++)
        if (request->parts[i].mode == GPU_SHARED)
            request->tenant = (int64_t)owner + 1;
}

char *request_to_text(const struct request *request)
{
    json_t *object = request_to_json(request);
    char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    return text;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/health.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/net/json_list.h"
#include "common/service/metrics.h"
#include "daemon/rgpud/box/instances.h"
#include "daemon/rgpud/workers/worker_process.h"

static const char *const fault_class_names[FAULT_CLASSES] = FAULT_CLASS_NAMES;
static const char *const action_names[] = {"count", "warn", "drain", "end"};

#define SECTION_NUMBER(section, class) SECTION_##section,
enum xid_section { XID_SECTIONS(SECTION_NUMBER) };

#define SECTION_ROW(section, class) {#section, class},
static const struct {
    const char *name;
    enum gpu_fault_class class;
} sections[] = {XID_SECTIONS(SECTION_ROW)};

#define XID_ROW(first, last, section, text) {first, last, SECTION_##section, text},
static const struct xid {
    unsigned first, last;
    enum xid_section section;
    const char *text;
} xids[] = {XIDS(XID_ROW)};

enum judged { JUDGED_NEVER, JUDGED_RISES, JUDGED_FALLS, JUDGED_SET, JUDGED_SLOWED };

#define COUNTER_ROW(field, name, judged, class, text) \
    {"DCGM_FI_DEV_" #name, JUDGED_##judged, FAULT_##class, text},
static const struct counter {
    const char *name;
    enum judged judged;
    enum gpu_fault_class class;
    const char *text;
} counters[] = {GPU_COUNTERS(COUNTER_ROW)};

// A fault, for the log and for people.
struct gpu_fault {
    unsigned xid; // 0: a counter
    enum gpu_fault_class class;
    char word[48], text[160];
};

// ---- the setting ----

static int health_find_name(const char *const *names, int count, const char *word, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], word, length))
            return i;
    return -1;
}

// Reads an entry "CLASS:ACTION" or "XID:ACTION". One of *XID and *CLASS is set, the other is -1.
static bool health_read_entry(const char *entry, long *xid, int *class, int *action)
{
    size_t length = strcspn(entry, ":");
    char *end;

    if (!entry[length])
        return false;
    *xid = strtol(entry, &end, 10);
    *class = health_find_name(fault_class_names, FAULT_CLASSES, entry, length);
    if (end != entry + length || *xid < 1)
        *xid = -1;
    *action = health_find_name(action_names, HEALTH_ACTIONS, entry + length + 1,
                               strlen(entry + length + 1));
    return (*xid > 0 || *class >= 0) && *action >= 0;
}

int health_settings_check(const struct box_settings *settings)
{
    int class, action;
    long xid;

    for (char *const *entry = settings->gpu_faults; *entry; entry++)
        if (!health_read_entry(*entry, &xid, &class, &action)) {
            config_complain(settings_table, "box", "gpu_faults",
                            "gpu_faults=%s is not understood; use CLASS:ACTION or XID:ACTION, with "
                            "the classes note, application, unknown, reset and replace and the "
                            "actions count, warn, drain and end",
                            *entry);
            return -EINVAL;
        }
    return 0;
}

// An entry for the Xid overrides one for its class. A class without an entry is logged.
static enum health_action action_for(const struct box_settings *settings,
                                     const struct gpu_fault *fault)
{
    enum health_action result = HEALTH_WARN;
    int class, action;
    long xid;

    for (char *const *entry = settings->gpu_faults; *entry; entry++) {
        if (!health_read_entry(*entry, &xid, &class, &action))
            continue;
        if (fault->xid && xid == (long)fault->xid)
            return (enum health_action)action;
        if (class == (int)fault->class)
            result = (enum health_action)action;
    }
    return result;
}

// ---- actions ----

// Ends the sessions on the GPU. The text is in the error of each program.
static void health_end_sessions(const struct box_device *device)
{
    struct worker_process *worker;
    char text[300];

    snprintf(text, sizeof(text), "GPU %u of box %.100s failed: %s", device->ordinal,
             device->box->name, device->health.text);
    TAILQ_FOREACH(worker, &device->box->workers, link)
        if (worker->session.id && device_is_granted(&worker->session.grant, device))
            worker_end(worker, CONTROL_END_REASON_DEVICE_LOST, text);
}

// Programs can cause faults at any rate, so the lines for what is only counted or a warning are
// limited.
static void health_log(const struct box_device *device, const struct gpu_fault *fault,
                       enum health_action action)
{
    static struct log_limit limit = LOG_LIMIT(20, 60);
    char line[400];

    snprintf(line, sizeof(line), "gpu=%u uuid=%s fault=\"%s\" class=%s action=%s", device->ordinal,
             device->uuid, fault->text, fault_class_names[fault->class], action_names[action]);
    if (action >= HEALTH_DRAIN)
        log_warn("%s", line);
    else
        log_limited(&limit, action == HEALTH_COUNT ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "%s", line);
}

static void health_act(struct box_device *device, const struct gpu_fault *fault)
{
    struct gpu_health *health = &device->health;
    enum health_action action = action_for(&device->box->settings, fault);

    health->counts[fault->class]++;
    health_log(device, fault, action);
    if (action == HEALTH_COUNT)
        return;
    snprintf(health->word, sizeof(health->word), "%s", fault->word);
    if (action == HEALTH_WARN)
        return;
    snprintf(health->text, sizeof(health->text), "%s", fault->text);
    health->action = action > health->action ? action : health->action;
    health->due = true;
    device->box->faults++;
    if (action == HEALTH_END)
        health_end_sessions(device);
    box_changed(device->box);
}

// ---- what a round says ----

static void judge_xid(struct box_device *device, unsigned number)
{
    struct gpu_fault fault = {.xid = number, .class = FAULT_UNKNOWN};
    const char *text = "is in no catalogue", *section = "none";

    for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
        if (number >= xids[i].first && number <= xids[i].last) {
            fault.class = sections[xids[i].section].class;
            section = sections[xids[i].section].name;
            text = xids[i].text;
        }
    snprintf(fault.word, sizeof(fault.word), "Xid %u", number);
    snprintf(fault.text, sizeof(fault.text), "Xid %u, %s (%s)", number, text, section);
    device->health.last_xid = number;
    health_act(device, &fault);
}

// Returns true if the change of a counter is a fault. The first reading is its base: errors of
// earlier days are no news.
static bool is_fault(enum judged judged, struct figure last, struct figure now)
{
    int64_t before = last.known ? last.value : 0;

    switch (judged) {
    case JUDGED_NEVER: return false;
    case JUDGED_RISES: return last.known && now.value > before;
    case JUDGED_FALLS: return last.known && now.value < before;
    case JUDGED_SET: return now.value && !before;
    case JUDGED_SLOWED: return now.value & ~before & CLOCKS_SLOWED;
    }
    return false;
}

static void judge_counter(struct box_device *device, unsigned place, struct figure now)
{
    struct figure *last = &device->health.counters[place];
    const struct counter *row = &counters[place];
    bool fault_now = now.known && is_fault(row->judged, *last, now);
    struct gpu_fault fault = {.class = row->class};

    *last = now.known ? now : *last;
    if (!fault_now)
        return;
    snprintf(fault.word, sizeof(fault.word), "%s", row->name + strlen("DCGM_FI_DEV_"));
    snprintf(fault.text, sizeof(fault.text), "%s=%lld: %.*s", fault.word, (long long)now.value,
             (int)strcspn(row->text, "."), row->text);
    health_act(device, &fault);
}

// Returns true if the device is the GPU of this UUID, or an instance of it.
static bool is_part_of(const struct box_device *device, const char *uuid)
{
    const struct instances *instances = device->box->instances;

    if (!device->instance)
        return !strcmp(device->uuid, uuid);
    for (unsigned i = 0; instances && i < instances->count; i++)
        if (!strcmp(instances->list[i].uuid, device->uuid))
            return !strcmp(instances->list[i].is.parent, uuid);
    return false;
}

void health_take(struct box *box, const struct monitor_round *round)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        for (unsigned j = 0; j < round->xid_count; j++)
            if (is_part_of(device, round->xids[j].uuid))
                judge_xid(device, round->xids[j].number);
        for (unsigned j = 0; j < round->gpu_count; j++)
            for (unsigned k = 0; is_part_of(device, round->gpus[j].uuid) && k < GPU_COUNTERS_MAX;
                 k++)
                judge_counter(device, k, round->gpus[j].counters[k]);
    }
}

// ---- reports ----

const char *health_word(const struct box_device *device)
{
    return *device->health.word ? device->health.word : "ok";
}

const char *health_objection(const struct box_device *device)
{
    return !device->box->agent && device->health.action >= HEALTH_DRAIN ? device->health.text
                                                                        : NULL;
}

json_t *health_report(struct box *box)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        box->devices[i].health.named = device->health.due;
        if (device->health.due)
            json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "uuid", device->uuid, "reason",
                                                  device->health.text, "force",
                                                  device->health.action == HEALTH_END));
    }
    return list;
}

void health_reported(struct box *box)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct gpu_health *health = &box->devices[i].health;
        if (!health->named)
            continue;
        health->due = health->named = false;
        // A later fault of another kind is judged by itself.
        health->action = HEALTH_COUNT;
    }
}

void health_adopt(struct box *box, const json_t *drained)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        bool was = device->drained;
        device->drained = json_list_has(drained, device->uuid);
        if (was && !device->drained && !device->health.due)
            device->health.word[0] = '\0';
        if (was != device->drained)
            box_changed(box);
    }
}

// ---- metrics ----

static void health_put_gpu(FILE *out, const char *name, const struct box_device *device,
                           const char *class, double value)
{
    char ordinal[16];
    const char *const labels[][2] = {
        {"gpu", ordinal}, {"uuid", device->uuid}, {"model", device->info.name}, {"class", class}};

    snprintf(ordinal, sizeof(ordinal), "%u", device->ordinal);
    metrics_put_sample(out, name, labels, class ? 4 : 3, value);
}

void health_put(FILE *out, const struct box *box)
{
    metrics_describe(out, "box_gpu_faults_total", "counter",
                     "Xid errors and faults by counters, by their class.");
    for (uint32_t i = 0; i < box->device_count; i++)
        for (int class = 0; class < FAULT_CLASSES; class ++)
            health_put_gpu(out, "box_gpu_faults_total", &box->devices[i], fault_class_names[class],
                           (double)box->devices[i].health.counts[class]);
    metrics_describe(out, "DCGM_FI_DEV_XID_ERRORS", "gauge", "The last Xid error; 0: none so far.");
    for (uint32_t i = 0; i < box->device_count; i++)
        health_put_gpu(out, "DCGM_FI_DEV_XID_ERRORS", &box->devices[i], NULL,
                       box->devices[i].health.last_xid);
    for (unsigned j = 0; j < GPU_COUNTERS_MAX; j++) {
        metrics_describe(out, counters[j].name, "gauge", counters[j].text);
        for (uint32_t i = 0; i < box->device_count; i++)
            if (box->devices[i].health.counters[j].known)
                health_put_gpu(out, counters[j].name, &box->devices[i], NULL,
                               (double)box->devices[i].health.counters[j].value);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/pool_figures.h"

#include <stdio.h>
#include <string.h>

const struct figure_row figure_rows[POOL_FIGURES] = {
    {"driver_bytes", 0, 1e15, true, FIGURE_SUM, "pool_box_driver_bytes",
     "Memory of the GPUs that is taken by everybody, as their driver says."},
    [FIGURE_UTILIZATION] = {"utilization", 0, 100, true, FIGURE_MEAN,
                            "pool_box_utilization_percent",
                            "Part of the time in which kernels ran, the mean of the GPUs."},
    {"processes", 0, 65536, true, FIGURE_SUM, "pool_box_processes",
     "Processes that have memory of the GPUs."},
    {"temperature", -100, 300, true, FIGURE_MOST, "pool_box_temperature_celsius",
     "Temperature of the hottest GPU."},
    {"power", 0, 20000, false, FIGURE_SUM, "pool_box_power_watts", "Power that the GPUs take."},
};

static bool pool_figures_read_figure(const struct figure_row *row, const json_t *object,
                                     double *value)
{
    const json_t *given = json_object_get(object, row->name);

    *value = json_number_value(given);
    return json_is_number(given) && *value >= row->least && *value <= row->most;
}

bool pool_is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static void pool_figures_take_health(struct pool_gpu *gpu, const char *word)
{
    bool is_good = word && strlen(word) < sizeof(gpu->health) && pool_is_printable(word);

    snprintf(gpu->health, sizeof(gpu->health), "%s", is_good ? word : "");
}

static void pool_figures_take_gpu(struct pool_gpu *gpu, const json_t *said)
{
    gpu->figures_known = 0;
    for (unsigned i = 0; i < POOL_FIGURES; i++)
        if (pool_figures_read_figure(&figure_rows[i], said, &gpu->figures[i]))
            gpu->figures_known |= 1u << i;
    pool_figures_take_health(gpu, json_string_value(json_object_get(said, "health")));
}

void pool_figures_take(struct pool_box *box, const json_t *list)
{
    const json_t *entry;
    size_t i;

    for (uint32_t k = 0; k < box->gpu_count; k++)
        pool_figures_take_gpu(box->gpus[k], NULL);
    json_array_foreach(list, i, entry) {
        const char *uuid = json_string_value(json_object_get(entry, "uuid"));
        for (uint32_t k = 0; uuid && k < box->gpu_count; k++)
            if (!strcmp(uuid, box->gpus[k]->uuid))
                pool_figures_take_gpu(box->gpus[k], entry);
    }
}

// Returns true if the last report of the box is recent.
static bool are_of_now(const struct pool_gpu *gpu)
{
    return gpu->present && gpu->box->connected && !gpu->box->hung_up;
}

bool pool_figures_get(const struct pool_gpu *gpu, unsigned figure, double *value)
{
    *value = gpu->figures[figure];
    return (gpu->figures_known >> figure & 1) && are_of_now(gpu);
}

void pool_figures_show(const struct pool_gpu *gpu, json_t *object)
{
    for (unsigned i = 0; i < POOL_FIGURES; i++) {
        double value;
        if (pool_figures_get(gpu, i, &value))
            json_object_set_new(object, figure_rows[i].name,
                                figure_rows[i].whole ? json_integer((json_int_t)value)
                                                     : json_real(value));
    }
    if (*gpu->health && are_of_now(gpu))
        json_object_set_new(object, "health", json_string(gpu->health));
}

void pool_figures_bound(json_t *sessions)
{
    json_t *session;
    size_t i;

    json_array_foreach(sessions, i, session)
        for (unsigned j = 0; j < POOL_FIGURES; j++) {
            double value;
            if (!pool_figures_read_figure(&figure_rows[j], session, &value))
                json_object_del(session, figure_rows[j].name);
        }
}

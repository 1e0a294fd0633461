// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/suspension/worker_images.h"

#include <errno.h>

#include "common/net/control.h"

enum { REST_MAX = 256 << 20 }; // bytes of a program that may stay beside its context

void worker_images_save(struct worker_process **list, size_t count, uint32_t number,
                        unsigned timeout_ms)
{
    const struct control_save save = {.number = number, .timeout_ms = timeout_ms};

    for (size_t i = 0; i < count; i++) {
        struct worker_pause *pause = &list[i]->pause;
        if (!pause->saves || list[i]->not_suspendable)
            continue;
        pause->image = IMAGE_SAVING;
        if (control_send_packet(list[i]->control_fd, CONTROL_SAVE, &save, -1))
            worker_process_kill(list[i], "does not hear that it has to save its memory");
    }
}

void worker_images_in_vain(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list[i]->not_suspendable = true;
}

bool worker_images_restore(struct worker_process **list, size_t count, uint32_t number)
{
    const struct control_restore restore = {.number = number};
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        struct worker_pause *pause = &list[i]->pause;
        if (pause->image == IMAGE_NONE)
            continue;
        any = true;
        pause->image = IMAGE_RESTORING;
        pause->result = 0;
        if (control_send_packet(list[i]->control_fd, CONTROL_RESTORE, &restore, -1))
            worker_process_kill(list[i], "does not hear that it has to restore its memory");
    }
    return any;
}

bool worker_images_pending(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.image == IMAGE_SAVING || list[i]->pause.image == IMAGE_RESTORING)
            return true;
    return false;
}

bool worker_images_busy(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.image == IMAGE_SAVED &&
            list[i]->pause.outcome == CONTROL_SAVE_OUTCOME_BUSY)
            return true;
    return false;
}

static uint64_t worker_images_unsaved(const struct worker_process *worker)
{
    uint64_t used = worker->session.stats.memory, saved = worker->pause.saved;

    return used > saved ? used - saved : 0;
}

bool worker_images_suffice(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.image != IMAGE_SAVED ||
            list[i]->pause.outcome != CONTROL_SAVE_OUTCOME_SAVED ||
            worker_images_unsaved(list[i]) > REST_MAX)
            return false;
    return true;
}

uint64_t worker_images_rest(const struct worker_process *worker)
{
    return worker_images_unsaved(worker) + worker->session.grant.devices[0]->info.context_cost;
}

int32_t worker_images_result(struct worker_process **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pause.result)
            return list[i]->pause.result;
    return 0;
}

// Answers of a pause that has been cancelled are ignored.
int worker_images_saved(struct worker_process *worker, const struct control_saved *saved)
{
    struct worker_pause *pause = &worker->pause;

    if (!worker->session.id)
        return -EPROTO;
    if (pause->number != saved->number || pause->image != IMAGE_SAVING)
        return 0;
    pause->image = IMAGE_SAVED;
    pause->saved = saved->bytes;
    pause->outcome = saved->outcome;
    box_changed(worker->box);
    return 0;
}

int worker_images_restored(struct worker_process *worker, const struct control_restored *restored)
{
    struct worker_pause *pause = &worker->pause;

    if (!worker->session.id)
        return -EPROTO;
    if (pause->number != restored->number || pause->image != IMAGE_RESTORING)
        return 0;
    pause->image = restored->result ? IMAGE_SAVED : IMAGE_NONE;
    pause->saved = restored->result ? pause->saved : 0;
    pause->result = restored->result;
    box_changed(worker->box);
    return 0;
}

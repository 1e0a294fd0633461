// SPDX-License-Identifier: GPL-2.0-or-later
// See wanted_classes.h.
#include "slurm-plugin/counts/wanted_classes.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

enum { UNUSED_SECONDS = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct count wanted; // under `lock`

// The class of jobs that any GPU suits is never forgotten.
void wanted_start(void)
{
    static const struct gpu_request one = {.per_node = 1};
    struct count_class *any = &wanted.classes[0];

    SCOPED_LOCK(&lock);
    *any = (struct count_class){.request = gpu_request_json(&one, 1),
                                .owner = UINT32_MAX,
                                .wanted = HUGE_VAL,
                                .gpus = 1,
                                .possible = true};
    strcpy(any->name, GPU_CLASS_ANY);
    wanted.class_count = any->request ? 1 : 0;
}

void wanted_stop(void)
{
    SCOPED_LOCK(&lock);
    count_clear(&wanted);
}

void wanted_copy(struct count *count)
{
    SCOPED_LOCK(&lock);
    memcpy(count->classes, wanted.classes, sizeof(count->classes));
    count->class_count = wanted.class_count;
    for (size_t i = 0; i < count->class_count; i++)
        json_incref(count->classes[i].request);
}

void wanted_note(const char *name)
{
    struct count_class *class;

    SCOPED_LOCK(&lock);
    class = count_find(&wanted, name);
    if (class && class->wanted < clock_seconds())
        class->wanted = clock_seconds();
}

bool wanted_has(const char *name)
{
    SCOPED_LOCK(&lock);
    return count_find(&wanted, name) != NULL;
}

bool wanted_add(const struct gpu_request *request, uint32_t nodes, uint32_t owner, bool *is_new)
{
    char name[GPU_CLASS_MAX];
    struct count_class *class;

    gpu_request_class(request, nodes, name);
    SCOPED_LOCK(&lock);
    *is_new = !count_find(&wanted, name);
    class = count_want(&wanted, request, nodes, clock_seconds());
    if (class && *is_new)
        class->owner = owner;
    return class != NULL;
}

const char *wanted_refusal(const char *name, uint32_t owner)
{
    SCOPED_LOCK(&lock);
    return count_find(&wanted, name) ? NULL : count_refusal(&wanted, owner);
}

void wanted_forget(void)
{
    SCOPED_LOCK(&lock);
    count_forget(&wanted, clock_seconds() - UNUSED_SECONDS);
}

void wanted_each(void (*call)(const char *name))
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < wanted.class_count; i++)
        call(wanted.classes[i].name);
}

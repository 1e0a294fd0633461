// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"

#define FAULTS_MAX 16

enum fault_action { FAULT_KILL, FAULT_STOP, FAULT_FAIL };

struct fault {
    char point[64];
    enum fault_action action;
    int error;
    unsigned at, reached;
};

bool fault_armed;
static struct fault faults[FAULTS_MAX];
static unsigned fault_count;

static int error_number(const char *word)
{
    if (!strcmp(word, "ENOSPC"))
        return -ENOSPC;
    if (!strcmp(word, "EBUSY"))
        return -EBUSY;
    if (!strcmp(word, "EIO"))
        return -EIO;
    return -abs(atoi(word));
}

static bool parse_fault(char *text, struct fault *fault)
{
    char *action = strchr(text, ':'), *at = strchr(text, '@');

    if (!action || (size_t)(action - text) >= sizeof(fault->point))
        return false;
    *action++ = '\0';
    fault->at = at ? (unsigned)atoi(at + 1) : 1;
    if (at)
        *at = '\0';
    strcpy(fault->point, text);
    if (!strcmp(action, "kill"))
        fault->action = FAULT_KILL;
    else if (!strcmp(action, "stop"))
        fault->action = FAULT_STOP;
    else if (!strncmp(action, "fail=", 5))
        fault->action = FAULT_FAIL, fault->error = error_number(action + 5);
    else
        return false;
    return true;
}

void fault_init(void)
{
    const char *value = secure_getenv("RGPU_FAULT");
    SCOPED_FREE char *copy = value ? strdup(value) : NULL;
    char *position = NULL;

    if (!copy)
        return;
    for (char *item = strtok_r(copy, ",", &position); item && fault_count < FAULTS_MAX;
         item = strtok_r(NULL, ",", &position)) {
        if (parse_fault(item, &faults[fault_count]))
            fault_count++;
        else
            log_warn("fault: not understood: %s", item);
    }
    fault_armed = fault_count > 0;
}

int fault_hit(const char *point)
{
    for (unsigned i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];

        if (strcmp(fault->point, point) || ++fault->reached < fault->at)
            continue;
        log_warn("fault: point=%s reached=%u", point, fault->reached);
        switch (fault->action) {
        case FAULT_KILL: raise(SIGKILL); break;
        case FAULT_STOP: raise(SIGSTOP); break;
        case FAULT_FAIL: return fault->error;
        }
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Selects the devices of the lease that the program sees, and their order.
#include "client-lib/cuda/session/visible_devices.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client-lib/cuda/session/box_session.h"
#include "common/base/uuid_text.h"

enum { PREFIX = 4 };

// The form in which a list names its devices. All entries have the form of the first one.
enum naming { BY_INDEX, BY_GPU, BY_INSTANCE };

static enum naming naming_of(const char *entry)
{
    return !strncasecmp(entry, "GPU-", PREFIX)   ? BY_GPU
           : !strncasecmp(entry, "MIG-", PREFIX) ? BY_INSTANCE
                                                 : BY_INDEX;
}

// Returns the device whose UUID begins so, of all boxes; -1: no device, or more than one.
static int visible_devices_find_uuid(const char *text, size_t length)
{
    char uuid[UUID_TEXT];
    int found = -1, number = 0;
    for (unsigned int i = 0; i < session_count; i++) {
        for (uint32_t k = 0; k < sessions[i]->device_count; k++, number++) {
            uuid_text(sessions[i]->devices[k].uuid, uuid);
            if (length >= sizeof(uuid) || strncasecmp(uuid, text, length) != 0)
                continue;
            if (found >= 0)
                return -1;
            found = number;
        }
    }
    return found;
}

// Returns the number at the start of the entry, as strtoul reads it; -1: none, or a negative one.
static long visible_devices_index_of(const char *entry)
{
    char *end;
    long index = strtol(entry, &end, 10);
    return end != entry && index >= 0 ? index : -1;
}

static int device_count(void)
{
    int count = 0;
    for (unsigned int i = 0; i < session_count; i++)
        count += (int)sessions[i]->device_count;
    return count;
}

static int find_entry(enum naming naming, const char *entry, size_t length)
{
    if (naming_of(entry) != naming)
        return -1;
    if (naming != BY_INDEX)
        return length > PREFIX ? visible_devices_find_uuid(entry + PREFIX, length - PREFIX) : -1;
    long index = visible_devices_index_of(entry);
    return index < device_count() ? (int)index : -1;
}

static bool visible_devices_has(const int *wanted, int count, int device)
{
    for (int i = 0; i < count; i++)
        if (wanted[i] == device)
            return true;
    return false;
}

// The list ends at the first entry that names no device. A list that names a device twice shows no
// device.
static int read_list(const char *list, int *wanted)
{
    int count = 0;
    list += strspn(list, " ");
    for (enum naming naming = naming_of(list);; list++) {
        list += strspn(list, " ");
        int device = find_entry(naming, list, strcspn(list, ", "));
        if (device < 0)
            return count;
        if (visible_devices_has(wanted, count, device))
            return 0;
        wanted[count++] = device;
        list += strcspn(list, ",");
        if (!*list)
            return count;
    }
}

static void visible_devices_show(int device)
{
    unsigned int i = 0;
    for (; device >= (int)sessions[i]->device_count; i++)
        device -= (int)sessions[i]->device_count;
    session_device_count = session_number(sessions[i], (uint32_t)device) + 1;
}

bool visible_hides_all(void)
{
    const char *list = secure_getenv("CUDA_VISIBLE_DEVICES");
    return list && naming_of(list + strspn(list, " ")) == BY_INDEX &&
           visible_devices_index_of(list) < 0;
}

void visible_show_devices(void)
{
    static int wanted[SESSIONS_MAX * WIRE_DEVICE_MAX];
    const char *list = secure_getenv("CUDA_VISIBLE_DEVICES");
    int count = list ? read_list(list, wanted) : device_count();
    for (int i = 0; i < count; i++)
        visible_devices_show(list ? wanted[i] : i);
}

// SPDX-License-Identifier: BSD-3-Clause
// Binary search in the generated table, then choice among the versions of the ABI.
#include "common/driver/proc_address.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/log.h"

static const cuuint64_t known_flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                      CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// The first entry of NAME, or the end of the table.
static const struct rgpu_proc_entry *proc_address_first_of(const char *name)
{
    size_t low = 0, high = rgpu_proc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(rgpu_proc_table[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return &rgpu_proc_table[low];
}

// Returns NAME's entry of the table: the newest up to CUDA_VERSION of the wanted kind. Sets *KNOWN
// if there is one of any version.
static const struct rgpu_proc_entry *newest_of(const char *name, int cuda_version, bool per_thread,
                                               bool *known)
{
    const struct rgpu_proc_entry *end = rgpu_proc_table + rgpu_proc_count;
    const struct rgpu_proc_entry *found = NULL;
    for (const struct rgpu_proc_entry *entry = proc_address_first_of(name);
         entry < end && !strcmp(entry->name, name); entry++) {
        if ((entry->ptsz_kind != 0) != per_thread)
            continue;
        *known = true;
        if (entry->version <= cuda_version)
            found = entry;
    }
    return found;
}

CUresult proc_address_get(const char *name, void **function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    if (!name || !function || flags & ~known_flags || cuda_version > CUDA_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    bool known = false;
    const struct rgpu_proc_entry *entry = NULL;
    if ((flags & known_flags) == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        entry = newest_of(name, cuda_version, true, &known);
    if (!known)
        entry = newest_of(name, cuda_version, false, &known);
    if (!entry)
        log_debug("no such function name=%s version=%d reason=%s", name, cuda_version,
                  known ? "version" : "name");
    *function = entry ? entry->symbol : NULL;
    if (status)
        *status = entry   ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult proc_address_get_v1(const char *name, void **function, int cuda_version, cuuint64_t flags)
{
    void *found = NULL;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = proc_address_get(name, &found, cuda_version, flags, NULL);
    if (result == CUDA_SUCCESS && !found)
        result = CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS)
        *function = found;
    return result;
}

// cuGetProcAddress: binary search in the generated table, then the choice among ABI versions.
#include "common/driver/proc_address.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

static const cuuint64_t known_flags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// The first entry of NAME, or the end of the table.
static const struct rgpu_proc_entry *first_of(const char *name)
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

struct candidates {
    const struct rgpu_proc_entry *legacy;
    const struct rgpu_proc_entry *per_thread;
    bool too_new; // the name exists, but only in later versions
};

static struct candidates candidates_of(const char *name, int cuda_version)
{
    const struct rgpu_proc_entry *end = rgpu_proc_table + rgpu_proc_count;
    struct candidates found = {0};
    for (const struct rgpu_proc_entry *entry = first_of(name);
         entry < end && !strcmp(entry->name, name); entry++) {
        if (entry->version > cuda_version)
            found.too_new = true;
        else if (entry->ptsz_kind)
            found.per_thread = entry;
        else
            found.legacy = entry;
    }
    return found;
}

// A suffix says which symbol is meant, as for dlsym; only this library's own symbols count.
static void *exact_symbol(const char *name)
{
    Dl_info self, found;
    if (strncmp(name, "cu", 2) || !strchr(name, '_') || !dladdr(&rgpu_proc_count, &self))
        return NULL;
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        library = dlopen(NULL, RTLD_LAZY); // it is the program itself
    if (!library)
        return NULL;
    void *symbol = dlsym(library, name);
    dlclose(library);
    if (!symbol || !dladdr(symbol, &found) || found.dli_fbase != self.dli_fbase)
        return NULL;
    return symbol;
}

static CUresult report(CUdriverProcAddressQueryResult *status, CUdriverProcAddressQueryResult value)
{
    if (status)
        *status = value;
    return value == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult proc_address_get(const char *name, void **function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    if (!name || !function || flags & ~known_flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct candidates found = candidates_of(name, cuda_version);
    const struct rgpu_proc_entry *entry = found.legacy;
    if (found.per_thread && flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        entry = found.per_thread;
    *function = entry ? entry->symbol : exact_symbol(name);
    if (*function)
        return report(status, CU_GET_PROC_ADDRESS_SUCCESS);
    log_debug("no such function name=%s version=%d reason=%s", name, cuda_version,
              found.too_new ? "version" : "name");
    return report(status, found.too_new ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

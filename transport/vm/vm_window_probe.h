// SPDX-License-Identifier: BSD-3-Clause
// Windows of the client's virtual machine. The first call searches for them; the result is kept for
// the life of the process.
#ifndef RGPU_TRANSPORT_VM_WINDOW_PROBE_H
#define RGPU_TRANSPORT_VM_WINDOW_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "common/net/vm_window.h"

enum { VM_WINDOWS_MAX = 4 };

struct vm_window {
    char id[VM_WINDOW_ID_TEXT];
    uint64_t size;
    int memory; // descriptor to map
    // Doorbells: a register of the device, or else eventfds.
    volatile uint32_t *doorbell;
    int events[VM_WINDOW_SLOTS * VM_WINDOW_DOORBELLS];
};

// Writes the ids of all windows, separated by commas.
void vm_windows_ids(char *text, size_t room);
// Returns NULL if there is none with that id.
const struct vm_window *vm_window_find(const char *id);
// Returns why windows are missing, or "" if the machine has none.
const char *vm_windows_problem(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Finds the windows of the client's machine. The first query searches them; the result is kept for
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
    int memory; // descriptor, to be mapped
    // The doorbells, one of the two ways: a register of the device, which is written to, or event
    // files.
    volatile uint32_t *doorbell;
    int events[VM_WINDOW_SLOTS * VM_WINDOW_DOORBELLS];
};

// The ids of all, with commas.
void vm_windows_ids(char *text, size_t room);
// NULL: none of that id.
const struct vm_window *vm_window_find(const char *id);
// Why there is none, or one less than there could be; "": this machine has just none.
const char *vm_windows_problem(void);

#endif

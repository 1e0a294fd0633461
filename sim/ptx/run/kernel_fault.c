// SPDX-License-Identifier: BSD-3-Clause
// Records the first fault of a launch, which ends the launch.
#include "sim/ptx/run/exec.h"

#include <errno.h>
#include <stdio.h>

const char *ptx_fault_name(enum ptx_fault_kind kind)
{
    switch (kind) {
    case PTX_FAULT_NONE: return "none";
    case PTX_FAULT_ILLEGAL_ADDRESS: return "illegal address";
    case PTX_FAULT_MISALIGNED_ADDRESS: return "misaligned address";
    case PTX_FAULT_INVALID_ADDRESS_SPACE: return "invalid address space";
    case PTX_FAULT_ILLEGAL_INSTRUCTION: return "illegal instruction";
    case PTX_FAULT_INVALID_PC: return "invalid program counter";
    case PTX_FAULT_STACK: return "stack overflow";
    case PTX_FAULT_TRAP: return "trap";
    case PTX_FAULT_ASSERT: return "assertion failed";
    case PTX_FAULT_DEADLOCK: return "deadlock";
    }
    return "unknown";
}

bool fault_raise(struct warp *w, const struct insn *in, enum ptx_fault_kind kind, unsigned lane,
                 uint64_t address, const char *fmt, ...)
{
    struct grid *grid = w->block->grid;
    struct ptx_fault *fault = &grid->fault;
    const uint32_t *tid = (const uint32_t *)(w->special + WARP_TID);
    va_list args;
    int n;

    if (atomic_flag_test_and_set(&grid->fault_taken))
        return false;
    fault->kind = kind;
    fault->address = address;
    for (int i = 0; i < 3; i++) {
        fault->block[i] = w->block->id[i];
        fault->thread[i] = tid[i * LANES + lane];
    }
    fault->line = in ? in->line : 0;
    va_start(args, fmt);
    n = vsnprintf(fault->text, sizeof(fault->text), fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof(fault->text))
        snprintf(fault->text + n, sizeof(fault->text) - (size_t)n,
                 " at line %u of %s, block (%u,%u,%u), thread (%u,%u,%u)", fault->line,
                 grid->function->name, fault->block[0], fault->block[1], fault->block[2],
                 fault->thread[0], fault->thread[1], fault->thread[2]);
    grid->result = -EFAULT;
    atomic_store(&grid->stop, true);
    return false;
}

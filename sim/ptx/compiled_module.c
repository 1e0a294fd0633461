// SPDX-License-Identifier: BSD-3-Clause
// Functions by which callers of the engine read a compiled module, bind its variables and
// initialize them.
#include "sim/ptx/compiled_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ptx_module_free(struct ptx_module **module)
{
    struct ptx_module *m = *module;

    if (!m)
        return;
    free(m->constants);
    arena_free(&m->arena);
    free(m);
    *module = NULL;
}

size_t ptx_module_global_count(const struct ptx_module *m)
{
    return m->global_count;
}

const struct ptx_global *ptx_module_global(const struct ptx_module *m, size_t index)
{
    return index < m->global_count ? &m->globals[index]->global : NULL;
}

int ptx_module_bind(struct ptx_module *m, size_t index, uint64_t address)
{
    struct variable *v;

    if (index >= m->global_count)
        return -EINVAL;
    v = m->globals[index];
    if (address & (v->global.align - 1))
        return -EINVAL;
    v->address = address;
    v->bound = true;
    return 0;
}

static uint64_t reloc_value(const struct reloc *r)
{
    uint64_t base = r->function ? (uintptr_t)r->function : r->variable->address;

    return base + (uint64_t)r->addend;
}

int ptx_module_initialize(struct ptx_module *m)
{
    for (uint32_t i = 0; i < m->global_count; i++)
        if (!m->globals[i]->bound)
            return -EINVAL;
    for (uint32_t i = 0; i < m->global_count; i++) {
        const struct variable *v = m->globals[i];
        void *to = (void *)(uintptr_t)v->address;

        if (!v->size)
            continue;
        if (v->init)
            memcpy(to, v->init, v->size);
        else
            memset(to, 0, v->size);
    }
    for (uint32_t i = 0; i < m->reloc_count; i++) {
        const struct reloc *r = &m->relocs[i];
        uint64_t value;

        if (!r->in_const) {
            value = reloc_value(r) >> r->shift;
            if (r->target->bound)
                memcpy((char *)(uintptr_t)r->target->address + r->target_offset, &value, r->size);
        } else if (r->variable && r->variable->space != SP_SHARED) {
            value = reloc_value(r);
            for (unsigned lane = 0; lane < LANES; lane++)
                memcpy(m->constants + r->const_offset + lane * r->size, &value, r->size);
        }
    }
    return 0;
}

size_t ptx_module_function_count(const struct ptx_module *m)
{
    return m->entry_count;
}

struct ptx_function *ptx_module_function(const struct ptx_module *m, size_t index)
{
    return index < m->entry_count ? m->entries[index] : NULL;
}

struct ptx_function *ptx_module_find(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->entry_count; i++)
        if (!strcmp(m->entries[i]->name, name))
            return m->entries[i];
    return NULL;
}

const struct ptx_function_info *ptx_function_info(const struct ptx_function *f)
{
    return &f->info;
}

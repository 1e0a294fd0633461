/* Stands in for the PTX engine in a build without sim/ptx: every module is refused. */
#include <errno.h>
#include <string.h>

#include "sim/ptx/ptx.h"

int ptx_module_compile(const char *text, size_t len, struct ptx_log *info, struct ptx_log *error,
                       struct ptx_module **out)
{
    static const char why[] = "this build has no PTX engine\n";
    if (error && error->size > error->used + sizeof(why)) {
        memcpy(error->buf + error->used, why, sizeof(why));
        error->used += sizeof(why) - 1;
    }
    return -ENOTSUP;
}

int ptx_module_link(const struct ptx_source *sources, size_t count, struct ptx_log *info,
                    struct ptx_log *error, struct ptx_module **out)
{
    return ptx_module_compile(NULL, 0, info, error, out);
}

void ptx_module_free(struct ptx_module **module)
{
    *module = NULL;
}

size_t ptx_module_global_count(const struct ptx_module *module)
{
    return 0;
}

const struct ptx_global *ptx_module_global(const struct ptx_module *module, size_t index)
{
    return NULL;
}

int ptx_module_bind(struct ptx_module *module, size_t index, uint64_t address)
{
    return -ENOTSUP;
}

int ptx_module_initialize(struct ptx_module *module)
{
    return -ENOTSUP;
}

size_t ptx_module_function_count(const struct ptx_module *module)
{
    return 0;
}

struct ptx_function *ptx_module_function(const struct ptx_module *module, size_t index)
{
    return NULL;
}

struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name)
{
    return NULL;
}

const struct ptx_function_info *ptx_function_info(const struct ptx_function *function)
{
    return NULL;
}

int ptx_launch_run(const struct ptx_launch *launch, struct ptx_fault *fault)
{
    return -ENOTSUP;
}

const char *ptx_fault_name(enum ptx_fault_kind kind)
{
    return "no engine";
}

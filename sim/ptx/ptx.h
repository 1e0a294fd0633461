// SPDX-License-Identifier: BSD-3-Clause
// Declares the PTX compiler and SIMT execution engine of the software GPU. A module is compiled
// from PTX text, its variables are bound to memory of the caller, and a pool of host threads
// launches its entry functions over a grid of blocks.
//
// Device memory is host memory at its real address. The engine accesses a device pointer directly
// after `find` has confirmed that the address is allocated.
//
// Threads: one thread compiles, binds and initializes a module; after that, any number of threads
// may launch its functions at once. The engine does not log; the caller prints the logs and faults.
#ifndef RGPU_SIM_PTX_H
#define RGPU_SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_function;

// A caller's text buffer. Writers append and always end it with a NUL; `used` excludes the NUL.
struct ptx_log {
    char *buf;
    size_t size; // bytes at buf; 0 drops all text
    size_t used;
};

struct ptx_source {
    const char *text; // need not end with a NUL; a NUL ends it
    size_t len;
    const char *name; // for messages; may be NULL
};

// Compiles one text, or several linked into one module (.extern resolved between them, .weak
// merged, names without .visible private to their source). Logs may be NULL.
//   -EINVAL      not PTX: syntax, types, undeclared or duplicate names, unresolved externs
//   -ENOTSUP     PTX that the engine does not execute; the log names the instruction and line
//   -ENOEXEC     wants a newer PTX ISA or a newer architecture than sm_90
//   -ENOMEM
__attribute__((warn_unused_result)) int ptx_module_compile(const char *text, size_t len,
                                                           struct ptx_log *info,
                                                           struct ptx_log *error,
                                                           struct ptx_module **out);
__attribute__((warn_unused_result)) int ptx_module_link(const struct ptx_source *sources,
                                                        size_t count, struct ptx_log *info,
                                                        struct ptx_log *error,
                                                        struct ptx_module **out);
void ptx_module_free(struct ptx_module **module);

enum ptx_space {
    PTX_SPACE_GLOBAL,
    PTX_SPACE_CONST,
};

struct ptx_global {
    const char *name;
    size_t size;
    size_t align;
    enum ptx_space space;
    bool visible;     // .visible, .weak or .common: cuModuleGetGlobal finds it
    bool managed;     // .attribute(.managed)
    const void *init; // size bytes without relocations, or NULL for zeroes
};

// Return the variables in .global and .const space. Each must be bound before a launch.
size_t ptx_module_global_count(const struct ptx_module *module);
const struct ptx_global *ptx_module_global(const struct ptx_module *module, size_t index);
// Binds variable `index` to `size` bytes of the caller's memory at a multiple of `align`.
__attribute__((warn_unused_result)) int ptx_module_bind(struct ptx_module *module, size_t index,
                                                        uint64_t address);
// Writes every variable's initial value, including addresses of other variables and functions.
__attribute__((warn_unused_result)) int ptx_module_initialize(struct ptx_module *module);

struct ptx_param {
    size_t offset;
    size_t size;
    size_t align;
};

struct ptx_function_info {
    const char *name;
    const struct ptx_param *params;
    size_t param_count;
    size_t param_bytes;         // end of the last parameter
    size_t static_shared;       // bytes
    size_t local_bytes;         // per thread, callees included unless they recurse
    size_t const_bytes;         // of the module
    unsigned max_threads;       // .maxntid or .reqntid product, else 1024
    unsigned required_block[3]; // .reqntid, else 0
    unsigned registers;         // 32-bit registers per thread as a GPU would count them, 16..255
    unsigned ptx_version;       // 90 for ISA 9.0
    unsigned target;            // 90 for sm_90
};

// Return the entry functions (kernels) in order of appearance.
size_t ptx_module_function_count(const struct ptx_module *module);
struct ptx_function *ptx_module_function(const struct ptx_module *module, size_t index);
struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name);
// Valid as long as the module.
const struct ptx_function_info *ptx_function_info(const struct ptx_function *function);

struct ptx_memory {
    void *argument;
    // Finds the allocation [*base, *end) that holds addr. Several threads call it at once. The
    // engine caches the result during the launch.
    bool (*find)(void *argument, uint64_t addr, uint64_t *base, uint64_t *end);
};

enum ptx_fault_kind {
    PTX_FAULT_NONE,
    PTX_FAULT_ILLEGAL_ADDRESS,
    PTX_FAULT_MISALIGNED_ADDRESS,
    PTX_FAULT_INVALID_ADDRESS_SPACE,
    PTX_FAULT_ILLEGAL_INSTRUCTION,
    PTX_FAULT_INVALID_PC, // call or branch through a bad value
    PTX_FAULT_STACK,      // recursion ran out of local memory
    PTX_FAULT_TRAP,
    PTX_FAULT_ASSERT,
    PTX_FAULT_DEADLOCK, // no thread of a block can run again
};

struct ptx_fault {
    enum ptx_fault_kind kind;
    uint64_t address; // of the memory access; else 0
    unsigned block[3];
    unsigned thread[3];
    unsigned line;  // of the PTX text
    char text[256]; // one sentence for a log: "illegal address 0x10 in st.global.u32 ..."
};

struct texture;
struct surface;

// Lookup of the texture and surface objects that kernels name by handle. A found object does not
// change until the same thread releases it. Several threads call these functions at once. NULL:
// there are no objects.
struct ptx_images {
    void *argument;
    const struct texture *(*find_texture)(void *argument, uint64_t handle);
    const struct surface *(*find_surface)(void *argument, uint64_t handle);
    void (*release_texture)(void *argument, const struct texture *texture);
    void (*release_surface)(void *argument, const struct surface *surface);
};

struct ptx_launch {
    struct ptx_function *function;
    unsigned grid[3];
    unsigned block[3];
    size_t dynamic_shared; // bytes
    const void *params;    // param_bytes, laid out as ptx_function_info says
    struct ptx_memory memory;
    struct ptx_images images;

    // Receives text of the device's printf, in whole calls, one at a time. May be NULL.
    void *print_argument;
    void (*print)(void *argument, const char *text, size_t size);

    // Implement the device's malloc and free; several threads call them at once. NULL: malloc
    // returns 0.
    void *heap_argument;
    uint64_t (*allocate)(void *argument, size_t size);
    void (*release)(void *argument, uint64_t address);

    // Receives calls of cudaGraphSetConditional. NULL: the kernel belongs to no graph.
    void *condition_opaque;
    void (*set_condition)(void *opaque, uint64_t handle, unsigned value);

    unsigned threads;   // host threads to use, 0 for one per host core
    unsigned sm_count;  // %nsmid; 0 for 1
    unsigned clock_khz; // rate of %clock; 0 for 1000000
    size_t stack_bytes; // local memory per thread for recursion (cuCtxSetLimit); 0 for 1024
    bool cooperative;   // every block makes progress independently of the others (grid sync)
    const volatile bool *cancel; // set by another thread to end the launch; may be NULL
};

// Runs the grid to its end on the calling thread and the pool.
//   -EINVAL     a dimension is 0, a block exceeds 1024 threads or the function's max_threads,
//               or shared memory exceeds PTX_MAX_SHARED
//   -EFAULT     *fault describes the fault (memory may be half written, as on a GPU)
//   -ECANCELED  `cancel` was set
//   -ENOMEM     no local or shared memory for the blocks
__attribute__((warn_unused_result)) int ptx_launch_run(const struct ptx_launch *launch,
                                                       struct ptx_fault *fault);

#define PTX_MAX_SHARED (227u * 1024)     // static and dynamic, per block
#define PTX_MAX_COOPERATIVE_BLOCKS 4096u // grid of a cooperative launch; more is -EINVAL

// Returns the fault's name for messages, such as "illegal address".
const char *ptx_fault_name(enum ptx_fault_kind kind);

#endif

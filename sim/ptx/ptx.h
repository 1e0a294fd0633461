// SPDX-License-Identifier: BSD-3-Clause
// PTX compiler and SIMT execution engine of the software GPU. A module is compiled from PTX text;
// the caller binds its variables to memory; a pool of host threads runs its kernels over a grid of
// blocks.
//
// Device memory is host memory, and a device pointer is its address. The engine accesses an address
// only if the callback `find` reports an allocation there.
//
// Threads: one thread compiles, binds and initializes a module. Afterwards any number of threads
// may launch its kernels at once. The engine writes messages to buffers of the caller, never to a
// log.
#ifndef RGPU_SIM_PTX_H
#define RGPU_SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_function;

// A text buffer of the caller. It always ends with a NUL, which `used` does not count.
struct ptx_log {
    char *buf;
    size_t size; // bytes at buf; 0: all text is discarded
    size_t used;
};

struct ptx_source {
    const char *text; // ends at `len` or at a NUL
    size_t len;
    const char *name; // name in messages; may be NULL
};

// Compiles one text, or links several to one module: .extern names are resolved between the texts,
// .weak ones merged, and names without .visible are private to their text. The logs may be NULL.
//   -EINVAL      not PTX: syntax, types, undeclared or duplicate names, unresolved externs
//   -ENOTSUP     valid PTX that the engine lacks; the log names instruction and line
//   -ENOEXEC     needs a newer PTX ISA, or a newer architecture than sm_90
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
    bool visible;     // .visible, .weak or .common; found by cuModuleGetGlobal
    bool managed;     // .attribute(.managed)
    const void *init; // `size` bytes, before relocations; NULL: zeros
};

// Return the variables in .global and .const space. Each must be bound before a launch.
size_t ptx_module_global_count(const struct ptx_module *module);
const struct ptx_global *ptx_module_global(const struct ptx_module *module, size_t index);
// Binds variable INDEX to ADDRESS, with `size` bytes at a multiple of `align`. The caller owns the
// memory.
__attribute__((warn_unused_result)) int ptx_module_bind(struct ptx_module *module, size_t index,
                                                        uint64_t address);
// Writes the initial values of all variables, including addresses of variables and functions.
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
    size_t local_bytes;         // bytes for each thread; includes callees unless they recurse
    size_t const_bytes;         // bytes of .const variables of the module
    unsigned max_threads;       // maximum threads of a block: .maxntid, .reqntid, or 1024
    unsigned required_block[3]; // .reqntid, or zeros
    unsigned registers;         // 32-bit registers of a thread, as a GPU would report, 16 to 255
    unsigned ptx_version;       // 90 for ISA 9.0
    unsigned target;            // 90 for sm_90
};

// Return the kernels in the order of the text.
size_t ptx_module_function_count(const struct ptx_module *module);
struct ptx_function *ptx_module_function(const struct ptx_module *module, size_t index);
struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name);
// Valid as long as the module.
const struct ptx_function_info *ptx_function_info(const struct ptx_function *function);

struct ptx_memory {
    void *argument;
    // Sets *base and *end to the allocation that contains addr. Returns false if there is none.
    // Must be thread-safe. The engine caches results until the launch ends.
    bool (*find)(void *argument, uint64_t addr, uint64_t *base, uint64_t *end);
};

enum ptx_fault_kind {
    PTX_FAULT_NONE,
    PTX_FAULT_ILLEGAL_ADDRESS,
    PTX_FAULT_MISALIGNED_ADDRESS,
    PTX_FAULT_INVALID_ADDRESS_SPACE,
    PTX_FAULT_ILLEGAL_INSTRUCTION,
    PTX_FAULT_INVALID_PC, // call or branch to an invalid address
    PTX_FAULT_STACK,      // no local memory left for recursion
    PTX_FAULT_TRAP,
    PTX_FAULT_ASSERT,
    PTX_FAULT_DEADLOCK, // no thread of a block can continue
};

struct ptx_fault {
    enum ptx_fault_kind kind;
    uint64_t address; // address of the access; 0 for other faults
    unsigned block[3];
    unsigned thread[3];
    unsigned line;  // line of the PTX text
    char text[256]; // one sentence, such as "illegal address 0x10 in st.global.u32 ..."
};

struct texture;
struct surface;

// Lookup of texture and surface objects by handle. A returned object must not change until the same
// thread releases it. Must be thread-safe. NULL: there are no objects.
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
    const void *params;    // `param_bytes` bytes, with the offsets of ptx_function_info
    struct ptx_memory memory;
    struct ptx_images images;

    // Receives output of the kernel's printf: whole calls, one at a time. May be NULL.
    void *print_argument;
    void (*print)(void *argument, const char *text, size_t size);

    // malloc and free of kernels. Must be thread-safe. NULL: malloc returns 0.
    void *heap_argument;
    uint64_t (*allocate)(void *argument, size_t size);
    void (*release)(void *argument, uint64_t address);

    // Receives calls of cudaGraphSetConditional. NULL: the kernel belongs to no graph.
    void *condition_opaque;
    void (*set_condition)(void *opaque, uint64_t handle, unsigned value);

    unsigned threads;   // maximum host threads; 0: one for each core
    unsigned sm_count;  // value of %nsmid; 0: 1
    unsigned clock_khz; // rate of %clock in kHz; 0: 1000000
    // bytes of local memory for recursion in each thread (cuCtxSetLimit); 0: 1024
    size_t stack_bytes;
    bool cooperative;            // all blocks run concurrently, as grid-wide synchronization needs
    const volatile bool *cancel; // another thread sets it to stop the launch; may be NULL
};

// Runs the grid on the calling thread and threads of a pool, and returns when it has ended.
//   -EINVAL     a dimension is 0, a block has more than 1024 or `max_threads` threads, or shared
//               memory exceeds PTX_MAX_SHARED
//   -EFAULT     a thread had a fault, which *fault describes; blocks may have written memory
//   -ECANCELED  `cancel` was set
//   -ENOMEM     no local or shared memory for the blocks
__attribute__((warn_unused_result)) int ptx_launch_run(const struct ptx_launch *launch,
                                                       struct ptx_fault *fault);

#define PTX_MAX_SHARED (227u * 1024)     // bytes of static and dynamic shared memory of a block
#define PTX_MAX_COOPERATIVE_BLOCKS 4096u // maximum blocks of a cooperative launch; else -EINVAL

// Returns the fault's name for messages, such as "illegal address".
const char *ptx_fault_name(enum ptx_fault_kind kind);

#endif

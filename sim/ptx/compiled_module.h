// SPDX-License-Identifier: BSD-3-Clause
// Data structures of the PTX engine: types, instructions, functions and modules in compiled form.
// parse/ reads text, lower/ generates instructions, run/ executes them; alu/ has the arithmetic
// functions that lower/ selects and run/ calls.
#ifndef RGPU_SIM_PTX_COMPILED_MODULE_H
#define RGPU_SIM_PTX_COMPILED_MODULE_H

#include <setjmp.h>
#include <stdarg.h>

#include "sim/ptx/module_arena.h"
#include "sim/ptx/ptx.h"
#include "sim/texture/texture.h"

#define LANES 32

enum type {
    TY_NONE,
    TY_PRED,
    TY_B8,
    TY_B16,
    TY_B32,
    TY_B64,
    TY_B128,
    TY_U8,
    TY_U16,
    TY_U32,
    TY_U64,
    TY_S8,
    TY_S16,
    TY_S32,
    TY_S64,
    TY_F16,
    TY_BF16,
    TY_F32,
    TY_F64,
    TY_F16X2,
    TY_BF16X2,
    TY_U16X2,
    TY_S16X2,
    TY_COUNT
};

struct type_info {
    const char *name;
    unsigned char size; // bytes
    char kind;          // b, u, s, f; p for predicates, x for pairs of integers
};

extern const struct type_info type_table[TY_COUNT];
// Returns TY_NONE for an unknown name.
enum type type_by_name(const char *name, size_t len);
static inline unsigned type_size(enum type t)
{
    return type_table[t].size;
}
static inline char type_kind(enum type t)
{
    return type_table[t].kind;
}

// Operand references: base area and byte offset. A register has the values of all lanes: 32 words
// of 4 or 8 bytes; a predicate is a mask of 32 bits. Before register allocation the offset of
// REF_REG is the number of a virtual register.
enum ref_base {
    REF_REG,    // registers of the frame
    REF_CONST,  // constants of the module, one copy for each lane
    REF_LAUNCH, // special registers that are equal in all threads of a block
    REF_WARP,   // special registers of the warp
};
#define REF_SHIFT 29
#define REF_MASK ((1u << REF_SHIFT) - 1)
#define REF(base, offset) ((uint32_t)(base) << REF_SHIFT | (uint32_t)(offset))
#define REF_BASE(ref) ((ref) >> REF_SHIFT)
#define REF_OFFSET(ref) ((ref)&REF_MASK)
#define REF_NONE REF(REF_CONST, 0) // reads as zero
#define NO_PRED UINT32_MAX

enum reg_class {
    CLASS_WORD,   // 32 x 4 bytes: everything up to 32 bits
    CLASS_DOUBLE, // 32 x 8 bytes
    CLASS_PRED,   // one 32-bit mask
};

// An arithmetic operation on all 32 lanes. The signature in its row gives the types of d, a, b and
// c.
typedef void alu_fn(void *d, const void *a, const void *b, const void *c, uint32_t imm);

struct alu_row {
    const char *key; // "add.b32"
    alu_fn *fn;
    char signature[5]; // d, a, b, c: w word, d double, p predicate, 0 none
};

// Returns NULL for an unknown key.
const struct alu_row *alu_find(const char *key);

enum opcode {
    OP_ALU,
    OP_BRA,
    OP_BRX,
    OP_CALL,
    OP_RET,
    OP_EXIT,
    OP_TRAP,
    OP_BRKPT,
    OP_LD,
    OP_ST,
    OP_ATOM,
    OP_CP_ASYNC,
    OP_CP_BULK,
    OP_MBARRIER,
    OP_FENCE,
    OP_BAR,
    OP_BAR_WARP,
    OP_SHFL,
    OP_VOTE,
    OP_MATCH,
    OP_REDUX,
    OP_ELECT,
    OP_ACTIVEMASK,
    OP_CLOCK,
    OP_LOCAL_ADDRESS,
    OP_ISSPACEP,
    OP_NANOSLEEP,
    OP_TEXTURE,
    OP_SURFACE,
    OP_IMAGE_QUERY,
    OP_NOP,
};

enum { BAR_SYNC, BAR_ARRIVE, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { MATCH_ALL = 1, MATCH_64 = 2 };
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_SIGNED = 16 };

enum mbarrier_op {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_DROP,
    MBARRIER_ARRIVE_EXPECT,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_WAIT,
    MBARRIER_WAIT_PARITY,
};

// Special registers that OP_CLOCK reads, such as %clock; imm has one of these.
enum clock_kind { CLOCK_32, CLOCK_HI, CLOCK_64, GLOBALTIMER_LO, GLOBALTIMER_HI, GLOBALTIMER };

enum space {
    SP_GENERIC,
    SP_GLOBAL,
    SP_CONST,
    SP_SHARED,
    SP_LOCAL,
    SP_PARAM, // parameters of a kernel; those of other functions are in SP_LOCAL
};

struct insn {
    alu_fn *fn;
    uint8_t op;
    uint8_t dst_class;
    bool pred_negated;
    bool loop;     // backward branch, which consumes the warp's budget
    bool sync;     // waits for the lanes that operand e names
    uint32_t pred; // guard predicate, or NO_PRED
    uint32_t d, a, b, c;
    uint32_t e;   // participating lanes of a warp-wide instruction
    uint32_t d2;  // predicate of shfl and match, or NO_PRED
    uint32_t imm; // branch target, offset, or argument of fn
    uint32_t line;
    union {
        struct memory_op *mem;
        struct call_op *call;
        struct branch_table *table;
        struct image_op *image;
        const void *any;
    };
};

enum atom_op {
    ATOM_ADD,
    ATOM_MIN,
    ATOM_MAX,
    ATOM_INC,
    ATOM_DEC,
    ATOM_EXCH,
    ATOM_CAS,
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR,
};

struct memory_op {
    uint8_t space;
    uint8_t size;  // bytes of one element
    uint8_t count; // elements: 1, 2, 4, 8
    bool sign_extend;
    bool address32;      // the address register has 32 bits
    bool frame_relative; // without address register: offset into the frame's local memory
    bool ordered;        // volatile, relaxed, acquire or release
    bool zero_fill;      // cp.async that fills the rest with zeros
    uint8_t atom;        // enum atom_op
    uint8_t type;        // enum type of an atomic
    bool discard;        // red: no result
    int64_t offset;
    uint32_t regs[8];
    uint8_t classes[8];
    struct memory_op *destination; // cp.async: destination in shared memory
    alu_fn *scan64, *scan32;       // functions that compute an address_scan (alu.h)
    const char *text;              // text for fault messages, such as "ld.global.u32"
};

// Access to a texture or surface. Operand a is the object's handle. The sources are, in this order:
// layer of layered geometries, coordinates, level or derivatives, offsets, values to store.
#define IMAGE_SOURCES 16
struct image_op {
    enum texture_geometry geometry;
    uint8_t access;    // enum texture_access, enum surface_access or enum image_question
    uint8_t boundary;  // enum surface_boundary
    uint8_t component; // component of a gather
    bool texels;       // integer coordinates
    bool has_offset;
    bool halves; // results are 16-bit floats; with `packed`, two in a register
    bool packed;
    uint8_t size;       // bytes of one element of a surface access
    uint8_t atom, type; // reduction: operation and type
    uint8_t source_count, result_count;
    uint8_t value_at; // index of the first source that is a value to store
    uint32_t sources[IMAGE_SOURCES];
    uint32_t results[4];
    uint8_t classes[4]; // classes of results or of values to store
    const char *text;   // text for fault messages
};

struct branch_table {
    uint32_t count;
    uint32_t *targets;
};

enum builtin {
    BUILTIN_NONE,
    BUILTIN_VPRINTF,
    BUILTIN_ASSERTFAIL,
    BUILTIN_MALLOC,
    BUILTIN_FREE,
    BUILTIN_SET_CONDITION,
    BUILTIN_LAUNCH_GRAPH,
};

struct call_op {
    struct ptx_function *callee; // NULL: indirect call through operand a
    uint32_t arg_count, ret_count;
    uint32_t *args; // offsets of the parameters in the caller's frame
    uint32_t *rets;
    uint32_t *arg_sizes, *ret_sizes;
};

struct formal {
    const char *name;
    uint32_t offset; // offset in the frame's local memory or in a kernel's parameters
    uint32_t size;
    uint32_t align;
    bool in_reg;
    uint32_t reg; // .reg parameter: virtual register + 1; else 0
    enum type type;
};

struct ptx_function {
    struct ptx_function_info info;
    struct ptx_module *module;
    const char *name;
    unsigned index; // index among all functions of the module
    unsigned source;
    bool entry;
    bool declared, defined;
    bool visible, weak;
    bool recursive;
    struct ptx_function *alias; // .alias: the function that is called instead
    enum builtin builtin;
    unsigned line;

    struct insn *code;
    uint32_t code_count;
    uint32_t regs_bytes;
    uint32_t frame_bytes; // bytes of local memory of one frame
    uint64_t total_local; // bytes including callees; at least UINT32_MAX: too much
    struct formal *formals;
    uint32_t formal_count;
    struct formal *returns;
    uint32_t return_count;

    bool uses_common_shared; // the function or a callee uses module-scope .shared
    bool indirect_calls;
    uint32_t own_shared; // bytes of function-scope .shared
    struct ptx_function **callees;
    uint32_t callee_count;
    int mark; // scratch for walks of the call graph
};

// A location in the constants, or in a variable's initial value, that needs an address.
struct reloc {
    struct variable *variable;
    struct ptx_function *function;
    int64_t addend;
    uint32_t const_offset; // location if in_const: offset in the constants
    bool in_const;
    struct variable *target; // location otherwise: variable and byte offset
    uint64_t target_offset;
    unsigned shift; // mask(): number of the byte of the address
    unsigned size;  // bytes to store
};

struct variable {
    struct ptx_global global;
    const char *name;
    unsigned source;
    enum space space;
    bool external, weak, defined;
    uint64_t address; // bound address, or offset in shared or local memory
    bool bound;
    bool own_shared; // function-scope .shared: the offset starts after the module-scope part
    bool dynamic;    // extern .shared x[]
    uint64_t size;
    uint64_t align;
    enum type type;
    uint8_t *init;
    unsigned line;
    int global_index;
    struct ptx_function *function;
};

struct ptx_module {
    struct arena arena;
    struct ptx_function **functions; // all functions, by index
    uint32_t function_count;
    struct ptx_function **entries;
    uint32_t entry_count;
    struct variable **globals; // .global and .const, by index
    uint32_t global_count;
    struct reloc *relocs;
    uint32_t reloc_count;
    uint8_t *constants; // 64-byte aligned
    uint32_t constant_bytes;
    uint32_t common_shared;
    uint32_t common_shared_align;
    uint64_t const_bytes;
    unsigned ptx_version, target;
};

// Special registers: offsets in the areas of REF_LAUNCH and REF_WARP. Comments give sizes and
// contents.
#define WORDS(n) ((n)*LANES * 4)
enum {
    LAUNCH_NTID = WORDS(0), // x y z
    LAUNCH_NCTAID = WORDS(3),
    LAUNCH_CTAID = WORDS(6),
    LAUNCH_SMID = WORDS(9),
    LAUNCH_NSMID = WORDS(10),
    LAUNCH_NWARPID = WORDS(11),
    LAUNCH_DYNAMIC_SMEM = WORDS(12),
    LAUNCH_TOTAL_SMEM = WORDS(13),
    LAUNCH_SHARED_BASE = WORDS(14),    // 64 bits
    LAUNCH_PARAM_BASE = WORDS(16),     // 64 bits
    LAUNCH_DYNAMIC_OFFSET = WORDS(18), // 64 bits: offset of dynamic shared memory
    LAUNCH_DYNAMIC_OFFSET32 = WORDS(20),
    LAUNCH_ENVREG = WORDS(21), // %envreg1 and 2: address of the grid-wide barrier
    LAUNCH_GRIDID = WORDS(24), // 64 bits
    LAUNCH_BYTES = WORDS(26),

    WARP_TID = WORDS(0),
    WARP_LANEID = WORDS(3),
    WARP_WARPID = WORDS(4),
    WARP_LANEMASK_EQ = WORDS(5),
    WARP_LANEMASK_LE = WORDS(6),
    WARP_LANEMASK_LT = WORDS(7),
    WARP_LANEMASK_GE = WORDS(8),
    WARP_LANEMASK_GT = WORDS(9),
    WARP_LOCAL_BASE = WORDS(10), // 64 bits
    WARP_BYTES = WORDS(12),
};

#endif

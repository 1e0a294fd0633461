// SPDX-License-Identifier: BSD-3-Clause
// Data of the compiler: tokens, names in scope, parsed operands, and the state of a compilation. An
// error calls longjmp to the start of the compilation; all allocations are in arenas.
#ifndef RGPU_SIM_PTX_PARSE_H
#define RGPU_SIM_PTX_PARSE_H

#include "sim/ptx/compiled_module.h"

enum token_kind {
    TOK_END,
    TOK_NAME, // identifiers, including %registers
    TOK_DOT,  // .word without the dot in `text`; "L1::evict_last" is one word
    TOK_INT,
    TOK_FLOAT,
    TOK_STRING,
    TOK_PUNCT,
};

struct token {
    enum token_kind kind;
    const char *text;
    unsigned len;
    unsigned line;
    char punct;       // '<' for "<<" is 'L', '>' for ">>" 'R', "&&" 'A', "||" 'O', "==" 'E',
                      // "!=" 'N', "<=" 'l', ">=" 'g'
    bool is_unsigned; // integer with suffix U, such as 12U
    bool is_f32;      // float of 32 bits, such as 0f3F800000
    uint64_t integer;
    double real;
};

enum symbol_kind {
    SYM_REGS, // .reg: a register, or a family such as %r<n>
    SYM_VARIABLE,
    SYM_PARAM, // kernel parameter, or .param in a function (frame memory)
    SYM_FUNCTION,
    SYM_LABEL,
    SYM_TARGETS, // .branchtargets, .calltargets
    SYM_PROTOTYPE,
};

struct symbol {
    struct symbol *next; // link of the hash chain
    const char *name;
    unsigned len;
    enum symbol_kind kind;
    unsigned line;

    enum type type;
    bool parameterized; // SYM_REGS: %r<n> stands for %r0 and up
    uint32_t reg_count;
    uint32_t *regs;  // virtual register + 1; 0: not used yet
    uint32_t vector; // number of elements of .v2 and .v4 registers

    struct variable *variable;
    struct ptx_function *function;

    bool entry_param; // `offset` is into a kernel's parameters, else into frame memory
    uint32_t offset, size;

    uint32_t pc; // SYM_LABEL: index of the instruction
    struct branch_table *table;
    bool any_target; // .calltargets: parameters are those of the called function
    struct formal *proto_params, *proto_returns;
    uint32_t proto_param_count, proto_return_count;
};

struct scope {
    struct scope *parent;
    uint32_t bucket_count;
    struct symbol *buckets[];
};

enum operand_kind {
    OPD_NONE,
    OPD_REG, // reference to a register or special register
    OPD_INT,
    OPD_FLOAT,
    OPD_SYMBOL,  // address of a variable, parameter or function, with an offset
    OPD_NAME,    // undeclared name: a label, or the function of a call
    OPD_VECTOR,  // {a, b}
    OPD_ADDRESS, // [base + offset]
    OPD_PAIR,    // p|q
    OPD_SINK,    // _
    OPD_CLOCK,   // special register that changes while running; `integer` is its clock_kind
    OPD_LIST,    // (a, b), parameters of a call
};

struct operand {
    enum operand_kind kind;
    bool negated; // !p
    bool is_f32;
    bool special;   // OPD_REG: read-only
    enum type type; // type of a register
    uint32_t ref;   // OPD_REG
    uint64_t integer;
    double real;
    int64_t offset;
    struct symbol *symbol;
    const char *name; // OPD_NAME
    unsigned len;
    struct operand *base;        // OPD_ADDRESS: register, symbol or NULL
    struct operand *coordinates; // OPD_ADDRESS: the list after the base of a texture, or NULL
    struct operand *elements;
    uint32_t count;
};

#define MAX_MODS 16
#define MAX_OPERANDS 8

struct modifier {
    const char *text;
    unsigned len;
    bool used;
};

// A parsed instruction: name.mod.mod operands;
struct ptx_statement {
    struct token name;
    char opcode[24];
    struct modifier mods[MAX_MODS];
    unsigned mod_count;
    struct operand *operands[MAX_OPERANDS];
    unsigned operand_count;
    struct operand *guard; // operand of the guard @p, or NULL
    uint32_t pred;         // reference to the guard, or NO_PRED
    bool pred_negated;
    unsigned line;
};

// A use of a label, which is resolved at the end of the function.
struct fixup {
    uint32_t insn;
    uint32_t *where; // location in a branch table; NULL: imm of the instruction
    const char *name;
    unsigned len;
    struct scope *scope;
    unsigned line;
};

#define CONST_BUCKETS 1024
struct const_entry {
    struct const_entry *next;
    uint64_t value;
    uint32_t offset;
    bool wide;
};

struct compiler;

// Functions of lower/ that process a statement and the end of a function.
struct lowering_steps {
    void (*statement)(struct compiler *c, struct ptx_statement *s);
    void (*end)(struct compiler *c, struct ptx_function *f);
};

struct compiler {
    jmp_buf fail;
    const struct lowering_steps *lowering;
    struct ptx_module *module;
    struct arena scratch;
    struct ptx_log *info, *error;
    const char *source_name;

    // lexer
    const char *at, *end;
    unsigned line;
    struct token token; // current token

    struct scope *globals; // names of all sources: functions and variables
    struct scope *statics; // names that are private to the present source
    struct scope *scope;
    unsigned source;
    unsigned depth; // nesting of braces and expressions, limited

    uint32_t function_capacity, entry_capacity, global_capacity, reloc_capacity;
    struct variable **shared; // all .shared variables
    uint32_t shared_count, shared_capacity;

    uint8_t *constants;
    uint32_t constant_bytes, constant_capacity;
    struct const_entry *const_buckets[CONST_BUCKETS];

    // the function being compiled
    struct ptx_function *function;
    struct insn *code;
    uint32_t code_count, code_capacity;
    uint8_t *classes; // reg_class of each virtual register
    uint32_t reg_count, reg_capacity;
    struct fixup *fixups;
    uint32_t fixup_count, fixup_capacity;
    uint32_t carry; // predicate register with the carry flag, or NO_PRED
    uint64_t frame_bytes;
    uint32_t frame_align; // maximum over all functions, at least 16
    uint32_t callee_capacity;
    struct ptx_statement *statement;
};

// compiler.c
__attribute__((noreturn, format(printf, 4, 5))) void
compile_fail(struct compiler *c, int code, unsigned line, const char *fmt, ...);
__attribute__((noreturn)) void compile_out_of_memory(struct compiler *c);
void *compile_alloc(struct compiler *c, size_t size);   // freed with the module
void *compile_scratch(struct compiler *c, size_t size); // freed when compile returns
// returns a copy that is freed with the module
void *compile_keep(struct compiler *c, const void *data, size_t size);
// Returns the array, enlarged if it has no space for one more element.
void *compile_grow(struct compiler *c, void *array, uint32_t count, uint32_t *capacity,
                   size_t size);
char *compile_string(struct compiler *c, const char *text, size_t len);
__attribute__((format(printf, 2, 3))) void ptx_log_add(struct ptx_log *log, const char *fmt, ...);

// lexer.c
void lex_start(struct compiler *c, const char *text, size_t len);
void lex_next(struct compiler *c);
void lex_skip_line(struct compiler *c);
bool token_is(const struct compiler *c, char punct);
bool token_word(const struct compiler *c, enum token_kind kind, const char *text);
bool token_accept(struct compiler *c, char punct);
bool token_accept_dot(struct compiler *c, const char *text);
void token_expect(struct compiler *c, char punct);
__attribute__((noreturn)) void token_unexpected(struct compiler *c, const char *wanted);

// name_scopes.c
struct symbol *scope_find(struct compiler *c, const char *name, unsigned len);
struct symbol *scope_find_in(struct scope *scope, const char *name, unsigned len);
struct symbol *scope_add(struct compiler *c, struct scope *scope, const char *name, unsigned len,
                         enum symbol_kind kind);
struct scope *scope_new(struct compiler *c, struct scope *parent, uint32_t buckets);
void scope_push(struct compiler *c);
void scope_pop(struct compiler *c);

// expression.c
struct constant {
    bool real;
    bool is_f32;
    bool is_unsigned;
    uint64_t integer;
    double value;
};
struct constant parse_constant(struct compiler *c);
uint64_t parse_constant_integer(struct compiler *c);
uint64_t parse_constant_size(struct compiler *c, uint64_t limit, const char *what);

// variable.c: declarations of state space
void parse_variable(struct compiler *c, bool external, bool visible, bool weak, bool common);
void parse_registers(struct compiler *c);
void parse_frame_param(struct compiler *c);
struct formal *parse_formals(struct compiler *c, uint32_t *count, bool entry, bool declare,
                             uint64_t *bytes);
uint32_t frame_reserve(struct compiler *c, uint64_t size, uint64_t align);

// parser.c, function_directive.c, common_directive.c
void parse_source(struct compiler *c);
bool parse_common_directive(struct compiler *c); // .loc, .file, .pragma, .section
void parse_function(struct compiler *c, bool external, bool visible, bool weak, bool entry);

// register.c
enum reg_class type_class(enum type t);
uint32_t new_reg(struct compiler *c, enum reg_class class);

// label.c
void parse_label(struct compiler *c, const struct token *name);
void add_fixup(struct compiler *c, uint32_t insn, uint32_t *where, const char *name, unsigned len);
void resolve_labels(struct compiler *c);

// operand.c
struct operand *parse_operand(struct compiler *c);
struct operand *parse_operand_list(struct compiler *c); // ( a, b )
bool special_register(struct compiler *c, struct operand *o, const char *name, unsigned len);

#endif

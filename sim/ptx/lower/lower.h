// SPDX-License-Identifier: BSD-3-Clause
// Lowering: converts parsed statements to instructions. A table maps each opcode to a function,
// which reads the operands with the parser, checks them, and appends instructions.
#ifndef RGPU_SIM_PTX_LOWER_H
#define RGPU_SIM_PTX_LOWER_H

#include "sim/ptx/parse/parse.h"

// statement.c: helpers of the lowering functions
bool mod(struct compiler *c, const char *name);
enum type mod_type(struct compiler *c); // next modifier, which must be a type
enum type mod_type_optional(struct compiler *c);
extern const struct lowering_steps lowering_steps;
struct insn *emit(struct compiler *c, enum opcode op);
struct insn *emit_alu(struct compiler *c, const char *key, uint32_t d, uint32_t a, uint32_t b,
                      uint32_t e, uint32_t imm);
uint32_t new_temp(struct compiler *c, enum type t); // reference to a new register
uint32_t const_ref(struct compiler *c, uint64_t value, bool wide);
uint32_t const_reloc(struct compiler *c, bool wide, struct variable *variable,
                     struct ptx_function *function, int64_t addend);
struct operand *opd(struct compiler *c, unsigned index);
void want_operands(struct compiler *c, unsigned least, unsigned most);
// reference to a source operand of type t
uint32_t use(struct compiler *c, struct operand *o, enum type t);
uint32_t use_pred(struct compiler *c, struct operand *o);
// reference to a source operand with a 64-bit address
uint32_t use_wide(struct compiler *c, struct operand *o);
uint32_t define(struct compiler *c, struct operand *o, enum type t);
void define_done(struct compiler *c, struct operand *o, enum type t, uint32_t ref);
__attribute__((noreturn)) void refuse(struct compiler *c, const char *why);
__attribute__((noreturn)) void malformed(struct compiler *c, const char *why);

// tables by instruction family
struct lowering {
    const char *name;
    void (*lower)(struct compiler *c);
};
extern const struct lowering lower_integer[], lower_float[], lower_control[], lower_memory[],
    lower_move[], lower_mbarriers[], lower_compare[], lower_images[];
void lower_call(struct compiler *c);
void lower_cp_async_mbarrier(struct compiler *c);
void lower_cp_async_bulk(struct compiler *c);
void lower_float_add(struct compiler *c, enum type t);
void lower_float_mul(struct compiler *c, enum type t);
void lower_float_fma(struct compiler *c, enum type t);
void lower_float_plain(struct compiler *c, enum type t); // div, min, max, abs, neg
struct memory_op *memory_operand(struct compiler *c, struct insn *in, struct operand *address,
                                 enum space space, unsigned size);
enum space mod_space(struct compiler *c);
const char *statement_text(struct compiler *c); // text for fault messages
enum atom_op mod_atom(struct compiler *c);
void check_atom(struct compiler *c, enum atom_op op, enum type t);

// regalloc.c
void allocate_registers(struct compiler *c, struct ptx_function *f);
typedef void ref_visitor(void *argument, uint32_t *ref, bool definition);
void insn_visit(struct insn *in, ref_visitor *visit, void *argument);

#endif

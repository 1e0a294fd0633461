// SPDX-License-Identifier: BSD-3-Clause
// Tables of arithmetic functions, and encodings of their argument imm.
#ifndef RGPU_SIM_PTX_ALU_H
#define RGPU_SIM_PTX_ALU_H

#include "sim/ptx/compiled_module.h"

extern const struct alu_row alu_rows_base[]; // each table ends with a row whose key is NULL
extern const struct alu_row alu_rows_v3[];   // same keys, compiled for AVX2 and FMA; x86-64 only
extern const struct alu_row alu_rows_slow[]; // other rounding modes and rare conversions

enum { PRMT_INDEX, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
enum { DOT_A_SIGNED = 1, DOT_B_SIGNED = 2, DOT_HIGH = 4 };

// "video": imm is VIDEO(operation, number of parts, flags).
enum { VIDEO_ADD, VIDEO_SUB, VIDEO_AVERAGE, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX };
enum { VIDEO_D_SIGNED = 1, VIDEO_A_SIGNED = 2, VIDEO_B_SIGNED = 4, VIDEO_SAT = 8, VIDEO_SUM = 16 };
#define VIDEO(op, parts, flags) ((uint32_t)(op) | (uint32_t)(parts) << 8 | (uint32_t)(flags) << 16)

// "round.f32", "round.f64": imm is ROUNDED(operation, rounding mode).
enum { ROUNDED_ADD, ROUNDED_SUB, ROUNDED_MUL, ROUNDED_FMA, ROUNDED_DIV, ROUNDED_RCP, ROUNDED_SQRT };
#define ROUNDED(op, mode) ((uint32_t)(op) | (uint32_t)(mode) << 8)

// "convert.<d><a>": imm is CONVERT(d's type, a's type, rounding mode, flags).
enum { CONVERT_FTZ = 1, CONVERT_SAT = 2, CONVERT_RELU = 4, CONVERT_INTEGRAL = 8 };
#define CONVERT(to, from, mode, flags) \
    ((uint32_t)(to) | (uint32_t)(from) << 8 | (uint32_t)(mode) << 16 | (uint32_t)(flags) << 24)

// Result of "scan.b64" and "scan.b32", which compute the addresses of all lanes. Operand c is an
// offset to add; imm is the number of bytes that each lane accesses.
struct address_scan {
    uint64_t address[LANES];
    uint64_t low, high;
    uint64_t any;    // bitwise or of all addresses
    uint64_t gaps;   // 0: each lane's bytes follow those of the previous lane
    uint64_t spread; // 0: all lanes have the same address
};

#endif

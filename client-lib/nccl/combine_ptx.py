#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the kernels of reductions as PTX: TO[i] = A[i] op B[i] in all types and operations of NCCL, and TO[i] = A[i] op
B[0] for `scaled` and `divided`. TO may be one of the operands. usage: combine_ptx.py OUTPUT

A kernel takes 16 bytes at a time, or 4 for numbers of one byte, if all three addresses are so aligned. Numbers of less than
32 bits are computed with as float and rounded to the nearest, of two to the even one; results that a number of 8 bits
cannot hold become its largest, as in NVIDIA's saturating conversions. PTX 7.0 for sm_75 runs with all drivers that have it."""
import sys
from string import Template

HEAD = """// SPDX-License-Identifier: BSD-3-Clause
// Written by client-lib/nccl/combine_ptx.py.
.version 7.0
.target sm_75
.address_size 64
"""

# %step: threads of the grid; %i: the thread's first index. @PACKS and @ONE are blocks that combine at index %i.
KERNEL = Template("""
.visible .entry $name(.param .u64 to, .param .u64 a, .param .u64 b, .param .u64 count)
{
    .reg .pred %more, %fits;
    .reg .b32 %n<3>;
    .reg .b64 %to, %a, %b, %count, %i, %first, %step, %whole, %at, %x, %y, %z;
    ld.param.u64 %to, [to];
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %count, [count];
    cvta.to.global.u64 %x, %to;
    cvta.to.global.u64 %y, %a;
    cvta.to.global.u64 %z, %b;
    mov.u32 %n0, %ctaid.x;
    mov.u32 %n1, %ntid.x;
    mov.u32 %n2, %tid.x;
    mul.wide.u32 %first, %n0, %n1;
    cvt.u64.u32 %i, %n2;
    add.s64 %first, %first, %i;
    mov.u32 %n0, %nctaid.x;
    mul.wide.u32 %step, %n0, %n1;
    mov.u64 %whole, 0;
$packs
    shl.b64 %i, %whole, $each_log;
    add.s64 %i, %i, %first;
one:
    setp.lt.u64 %more, %i, %count;
    @!%more bra done;
$one
    add.s64 %i, %i, %step;
    bra one;
done:
    ret;
}
""")
PACKS = Template("""    or.b64 %at, %to, %a;
    or.b64 %at, %at, %b;
    and.b64 %at, %at, $last;
    setp.eq.s64 %fits, %at, 0;
    shr.u64 %i, %count, $each_log;
    selp.b64 %whole, %i, 0, %fits;
    mov.u64 %i, %first;
pack:
    setp.lt.u64 %more, %i, %whole;
    @!%more bra rest;
$body
    add.s64 %i, %i, %step;
    bra pack;
rest:""")


class Integer:
    def __init__(self, size, signed):
        self.size, self.raw = size, "b%d" % max(16, 8 * size)
        self.type = "su"[not signed] + self.raw[1:]
        self.memory = "su"[not signed] + "8" if size == 1 else self.raw

    def combine(self, operation, result, left, right):
        code = {"sum": "add", "product": "mul.lo", "scaled": "mul.lo", "minimum": "min", "maximum": "max", "divided": "div"}
        return ["%s.%s %s, %s, %s;" % (code[operation], self.type, result, left, right)]


class Float:
    """A number that is converted to one of type `wide` by load() and back by store()."""

    def __init__(self, size, wide="f32", load=None, store=None):
        self.size, self.raw, self.wide = size, "b%d" % max(16, 8 * size), wide
        self.memory = "u8" if size == 1 else self.raw
        self.load, self.store = load or (lambda to, value: ["mov.b%d %s, %s;" % (8 * size, to, value)]), store or (
            lambda to, value: ["mov.b%d %s, %s;" % (8 * size, to, value)])

    def combine(self, operation, result, left, right):
        lines = [".reg .%s %%l, %%r, %%v;" % self.wide, ".reg .pred %p, %q;", ".reg .b32 %t<12>;"]
        lines += self.load("%l", left) + self.load("%r", right)
        if operation in ("minimum", "maximum"):
            lines += ["setp.%s.%s %%p, %%r, %%l;" % ("lt" if operation == "minimum" else "gt", self.wide),
                      "setp.nan.%s %%q, %%r, %%r;" % self.wide, "or.pred %p, %p, %q;", "selp.%s %%v, %%r, %%l, %%p;" % self.wide]
        else:
            lines += ["%s.rn.%s %%v, %%l, %%r;" % ("add" if operation == "sum" else "mul", self.wide)]
        return lines + self.store(result, "%v")


def half():
    return Float(2, load=lambda to, value: ["cvt.f32.f16 %s, %s;" % (to, value)],
                 store=lambda to, value: ["cvt.rn.f16.f32 %s, %s;" % (to, value)])


def bfloat():
    return Float(2, load=lambda to, value: ["cvt.u32.u16 %%t0, %s;" % value, "shl.b32 %t0, %t0, 16;", "mov.b32 %s, %%t0;" % to],
                 store=lambda to, value: [
                     "mov.b32 %%t0, %s;" % value, "shr.u32 %t1, %t0, 16;", "or.b32 %t2, %t1, 64;", "and.b32 %t1, %t1, 1;",
                     "add.u32 %t1, %t1, 0x7fff;", "add.u32 %t1, %t1, %t0;", "shr.u32 %t1, %t1, 16;",
                     "setp.nan.f32 %%p, %s, %s;" % (value, value), "selp.b32 %t1, %t2, %t1, %p;", "cvt.u16.u32 %s, %%t1;" % to])


def quarter(exponent, infinite):
    """8 bits: the sign, EXPONENT bits, a fraction. INFINITE: the largest exponent stands for infinity and NaN, as in IEEE 754;
    otherwise all bits set, without the sign, stand for NaN."""
    fraction, bias, top = 7 - exponent, (1 << exponent - 1) - 1, (1 << exponent) - 1
    most = (top << fraction) - 1 if infinite else 0x7e

    def load(to, value):
        special = ["setp.eq.u32 %%p, %%t1, %d;" % top, "setp.ne.u32 %q, %t2, 0;",
                   "selp.b32 %t4, 0x7fc00000, 0x7f800000, %q;"] if infinite else [
                       "and.b32 %t4, %t0, 0x7f;", "setp.eq.u32 %p, %t4, 0x7f;", "mov.b32 %t4, 0x7fc00000;"]
        return ["cvt.u32.u16 %%t0, %s;" % value, "shr.u32 %%t1, %%t0, %d;" % fraction, "and.b32 %%t1, %%t1, %d;" % top,
                "and.b32 %%t2, %%t0, %d;" % ((1 << fraction) - 1), "add.u32 %%t3, %%t1, %d;" % (127 - bias),
                "shl.b32 %t3, %t3, 23;", "shl.b32 %%t4, %%t2, %d;" % (23 - fraction), "or.b32 %t3, %t3, %t4;",
                "cvt.rn.f32.u32 %s, %%t2;" % to, "mul.rn.f32 %s, %s, 0f%08X;" % (to, to, 1 - bias - fraction + 127 << 23),
                "mov.b32 %%t4, %s;" % to, "setp.ne.u32 %p, %t1, 0;", "selp.b32 %t3, %t3, %t4, %p;", *special,
                "selp.b32 %t3, %t4, %t3, %p;", "mov.b32 %s, %%t3;" % to, "neg.f32 %%v, %s;" % to, "and.b32 %t0, %t0, 0x80;",
                "setp.ne.u32 %p, %t0, 0;", "selp.f32 %s, %%v, %s, %%p;" % (to, to)]

    def store(to, value):
        return ["mov.b32 %%t0, %s;" % value, "shr.u32 %t1, %t0, 24;", "and.b32 %t1, %t1, 0x80;", "and.b32 %t2, %t0, 0x7fffffff;",
                "shr.u32 %t3, %t2, 23;", "add.s32 %%t3, %%t3, %d;" % (bias - 127), "and.b32 %t2, %t2, 0x7fffff;",
                "or.b32 %t2, %t2, 0x800000;", "sub.s32 %t4, 1, %t3;", "max.s32 %t4, %t4, 0;",
                "add.s32 %%t4, %%t4, %d;" % (23 - fraction), "max.s32 %t3, %t3, 1;",
                "shr.u32 %t5, %t2, %t4;", "mov.u32 %t6, 1;", "shl.b32 %t7, %t6, %t4;", "sub.u32 %t7, %t7, 1;",
                "and.b32 %t7, %t2, %t7;", "sub.u32 %t8, %t4, 1;", "shl.b32 %t8, %t6, %t8;",
                "and.b32 %t9, %t5, 1;", "add.u32 %t7, %t7, %t9;", "setp.gt.u32 %p, %t7, %t8;", "selp.u32 %t9, 1, 0, %p;",
                "add.u32 %t5, %t5, %t9;", "sub.s32 %t3, %t3, 1;", "shl.b32 %%t3, %%t3, %d;" % fraction, "add.u32 %t3, %t3, %t5;",
                "min.u32 %%t3, %%t3, %d;" % most, "setp.gt.s32 %p, %t4, 25;", "selp.b32 %t3, 0, %t3, %p;",
                "setp.nan.f32 %%p, %s, %s;" % (value, value), "selp.b32 %t3, 0x7f, %t3, %p;", "or.b32 %t3, %t3, %t1;",
                "cvt.u16.u32 %s, %%t3;" % to]

    return Float(1, load=load, store=store)


INTEGERS = {sign + str(8 * size): Integer(size, sign == "int") for size in (1, 4, 8) for sign in ("int", "uint")}
FLOATS = {"float16": half(), "bfloat16": bfloat(), "float32": Float(4), "float64": Float(8, wide="f64"),
          "float8e4m3": quarter(4, False), "float8e5m2": quarter(5, True)}
OPERATIONS = ("sum", "product", "minimum", "maximum", "scaled")


def address(base, log):
    return ["shl.b64 %%at, %%i, %d;" % log, "add.s64 %%at, %s, %%at;" % base]


def pack_body(kind, operation, each):
    """Loads a pack of each operand, combines the numbers, and stores the pack."""
    halves = kind.size == 2
    registers = each // 2 if halves else each
    word = "b32" if halves else kind.raw
    memory = "v%d.%s" % (registers, word if halves else kind.memory)
    lines = ["{", ".reg .%s %%a<%d>, %%b<%d>;" % (kind.raw, each, each)]
    if halves:
        lines.append(".reg .b32 %%w<%d>;" % registers)
    for base, name in (("%y", "%a"), ("%z", "%b")):
        lines += address(base, 2 if kind.size == 1 else 4)
        into = ", ".join(f"%w{k}" if halves else f"{name}{k}" for k in range(registers))
        lines.append("ld.global.%s {%s}, [%%at];" % (memory, into))
        if halves:
            lines += ["mov.b32 {%s%d, %s%d}, %%w%d;" % (name, 2 * k, name, 2 * k + 1, k) for k in range(registers)]
    for k in range(each):
        lines += ["{"] + kind.combine(operation, "%%a%d" % k, "%%a%d" % k, "%%b%d" % k) + ["}"]
    if halves:
        lines += ["mov.b32 %%w%d, {%%a%d, %%a%d};" % (k, 2 * k, 2 * k + 1) for k in range(registers)]
    lines += address("%x", 2 if kind.size == 1 else 4)
    into = ", ".join(f"%w{k}" if halves else f"%a{k}" for k in range(registers))
    return lines + ["st.global.%s [%%at], {%s};" % (memory, into), "}"]


def one_body(kind, operation, same):
    """Combines the numbers at index %i; SAME: with the first one of B."""
    log = kind.size.bit_length() - 1
    lines = ["{", ".reg .%s %%e, %%f;" % kind.raw, *address("%y", log), "ld.global.%s %%e, [%%at];" % kind.memory]
    lines += ["mov.b64 %at, %z;"] if same else address("%z", log)
    lines += ["ld.global.%s %%f, [%%at];" % kind.memory, "{"] + kind.combine(operation, "%e", "%e", "%f") + ["}"]
    return lines + address("%x", log) + ["st.global.%s [%%at], %%e;" % kind.memory, "}"]


def kernel(name, kind, operation):
    same = operation in ("scaled", "divided")
    each = (4 if kind.size == 1 else 16) // kind.size
    indent = lambda lines: "\n".join("    " + line for line in lines)
    packs = "" if same else PACKS.substitute(last=each * kind.size - 1, each_log=each.bit_length() - 1,
                                             body=indent(pack_body(kind, operation, each)))
    return KERNEL.substitute(name="%s_%s" % (operation, name), packs=packs, each_log=each.bit_length() - 1,
                             one=indent(one_body(kind, operation, same)))


def main():
    text = [HEAD]
    for name, kind in {**INTEGERS, **FLOATS}.items():
        text += [kernel(name, kind, operation) for operation in OPERATIONS + (("divided",) if name in INTEGERS else ())]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("".join(text))


if __name__ == "__main__":
    main()

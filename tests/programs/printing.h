// SPDX-License-Identifier: BSD-3-Clause
// The text of printing.ptx, whose kernel prints, ended by a zero byte.
#ifndef TESTS_PROGRAMS_PRINTING_H
#define TESTS_PROGRAMS_PRINTING_H

__asm__(".pushsection .rodata\n"
        "printing_ptx: .incbin \"tests/programs/printing.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char printing_ptx[] __attribute__((visibility("hidden")));

#endif

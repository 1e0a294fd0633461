# SPDX-License-Identifier: BSD-3-Clause
# The PTX engine: parse reads text, lower makes instructions of it, run executes them, alu has the
# arithmetic that both know; what they share is the compiled module. Textures are read by sim/texture.
PTX_SOURCES := $(wildcard sim/ptx/*.c sim/ptx/parse/*.c sim/ptx/lower/*.c sim/ptx/run/*.c sim/texture/*.c) \
               $(filter-out sim/ptx/alu/alu_v3.c,$(wildcard sim/ptx/alu/*.c))

# Results have to be those of the instruction, not of a rearranged or contracted expression.
PTX_FLOAT := -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
# clang, which only builds fuzzers, has neither the second flag nor a name for f16c.
PTX_BY_GCC := $(if $(findstring clang,$(CC)),,yes)
PTX_VECTOR := -ftree-vectorize $(if $(PTX_BY_GCC),-fvect-cost-model=dynamic)

# The arithmetic a second time with AVX2, chosen at run time.
ifneq ($(and $(PTX_BY_GCC),$(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null))),)
PTX_SOURCES += sim/ptx/alu/alu_v3.c
$(B)/obj/sim/ptx/alu/alu_table.o: EXTRA_CPPFLAGS := -DALU_HAVE_V3
endif

$(B)/obj/sim/ptx/alu/alu.o: EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR)
$(B)/obj/sim/ptx/alu/alu_v3.o: EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR) -mavx2 -mfma -mbmi2 -mf16c
$(B)/obj/sim/ptx/alu/rounding.o: EXTRA_CPPFLAGS := -ffp-contract=off -frounding-math
$(patsubst %.c,$(B)/obj/%.o,$(wildcard sim/texture/*.c)): EXTRA_CPPFLAGS := $(PTX_FLOAT)
$(patsubst %,$(B)/obj/sim/ptx/run/%.o,atomic memory warp): EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR)

$(call static_library,rgpuptx,$(PTX_SOURCES))

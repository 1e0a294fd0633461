PTX_SOURCES := $(addprefix sim/ptx/,types.c lexer.c scope.c expression.c variable.c parser.c \
    function.c operand.c lower.c lower_integer.c lower_float.c lower_control.c lower_memory.c \
    lower_move.c lower_mbarrier.c lower_compare.c regalloc.c compile.c module.c alu.c alu_table.c rounding.c memory.c atomic.c \
    call.c barrier.c mbarrier.c lanes.c warp.c print.c fault.c launch.c pool.c)

# Results have to be those of the instruction, not of a rearranged or contracted expression.
PTX_FLOAT := -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
# clang, which only builds fuzzers, has neither the second flag nor a name for f16c.
PTX_BY_GCC := $(if $(findstring clang,$(CC)),,yes)
PTX_VECTOR := -ftree-vectorize $(if $(PTX_BY_GCC),-fvect-cost-model=dynamic)

# The arithmetic a second time with AVX2, chosen at run time.
ifneq ($(and $(PTX_BY_GCC),$(findstring x86_64,$(shell $(CC) -dumpmachine))),)
PTX_SOURCES += sim/ptx/alu_v3.c
$(B)/obj/sim/ptx/alu_table.o: EXTRA_CPPFLAGS := -DALU_HAVE_V3
endif

$(B)/obj/sim/ptx/alu.o: EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR)
$(B)/obj/sim/ptx/alu_v3.o: EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR) -mavx2 -mfma -mbmi2 -mf16c
$(B)/obj/sim/ptx/rounding.o: EXTRA_CPPFLAGS := -ffp-contract=off -frounding-math
$(B)/obj/sim/ptx/atomic.o $(B)/obj/sim/ptx/memory.o $(B)/obj/sim/ptx/warp.o: \
    EXTRA_CPPFLAGS := $(PTX_FLOAT) $(PTX_VECTOR)

$(call static_library,rgpuptx,$(PTX_SOURCES))

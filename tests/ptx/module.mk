# SPDX-License-Identifier: BSD-3-Clause
# Tests of the PTX engine alone, without the driver's interface around it.
PTX_TESTS := $(wildcard tests/ptx/*.c)
$(foreach t,$(PTX_TESTS),\
  $(call test_program,ptx-$(basename $(notdir $(t))),$(t),rgpuptx,-lm -ldl))
# Expected values are computed under changing rounding modes.
$(B)/obj/tests/ptx/float-instructions.o $(B)/obj/tests/ptx/double-instructions.o: \
    EXTRA_CPPFLAGS := -frounding-math -ffp-contract=off

# SPDX-License-Identifier: BSD-3-Clause
# Programs that use librgpu; a script runs them natively and through boxes.
TEST_EXTRAS += $(TEAM_EXAMPLES:%=$(B)/examples/%)
TEAM_PROGRAMS := puts bereaved joined ranks far
define team_program
TEST_EXTRAS += $(B)/tests/team/$(1)
$(call link_rule,$(B)/tests/team/$(1),tests/team/$(1).c,,\
    -L$(B)/lib -l:librgpu.so.1 -l:libcuda.so.1,,$(B)/lib/librgpu.so.1 $(B)/lib/libcuda.so.1)
$(B)/obj/tests/team/$(1).o: tests/programs/kernels.ptx
endef
$(foreach p,$(TEAM_PROGRAMS),$(eval $(call team_program,$(p))))
$(B)/obj/tests/team/ranks.o: tests/team/ranks.ptx
$(B)/obj/tests/team/far.o: tests/team/far.ptx

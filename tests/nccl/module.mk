# SPDX-License-Identifier: BSD-3-Clause
# Programs that call NCCL, with ours.
NCCL_PROGRAMS := ranks_collect ranks_lost
define nccl_program
TEST_EXTRAS += $(B)/tests/nccl/$(1)
$(call link_rule,$(B)/tests/nccl/$(1),tests/nccl/$(1).c,,\
    -L$(B)/lib/nccl -L$(B)/lib -l:libnccl.so.2 -l:libcuda.so.1 -lm,,$(B)/lib/nccl/libnccl.so.2 $(B)/lib/libcuda.so.1 $(B)/lib/librgpu.so.1)
$(B)/obj/tests/nccl/$(1).o: tests/programs/kernels.ptx
endef
$(foreach p,$(NCCL_PROGRAMS),$(eval $(call nccl_program,$(p))))

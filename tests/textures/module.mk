# SPDX-License-Identifier: BSD-3-Clause
# Textures and surfaces: the program that records what a device reads, wherever libcuda.so.1 is.
$(eval $(call link_rule,$(B)/tests/textures-record,$(wildcard tests/textures/*.c),,\
    -L$(B)/lib -l:libcuda.so.1 -lm,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/textures/sampling.o: tests/textures/sampling.ptx
TEST_EXTRAS += $(B)/tests/textures-record

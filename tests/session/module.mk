# SPDX-License-Identifier: BSD-3-Clause
TEST_EXTRAS += $(B)/tests/copy-pattern
$(eval $(call link_rule,$(B)/tests/copy-pattern,tests/session/copy_pattern.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))

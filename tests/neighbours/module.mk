# SPDX-License-Identifier: BSD-3-Clause
TEST_EXTRAS += $(B)/tests/one-call
$(eval $(call link_rule,$(B)/tests/one-call,tests/neighbours/one_call.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))

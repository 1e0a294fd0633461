# SPDX-License-Identifier: BSD-3-Clause
$(call test_helper,cupti-profiled,tests/cupti/profiled.c,,-L$(B)/lib -l:libcuda.so.1 -ldl)
$(B)/tests/cupti-profiled: $(B)/lib/libcuda.so.1
$(B)/obj/tests/cupti/profiled.o: tests/programs/kernels.ptx

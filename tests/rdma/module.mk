# SPDX-License-Identifier: BSD-3-Clause
# Programs that tests/rdma/guest runs in a machine with RDMA devices.
$(call test_program,rdma-registered_ranges,tests/rdma/registered_ranges.c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
RDMA_GUEST_PROGRAMS := $(filter-out registered_ranges,$(patsubst tests/rdma/%.c,%,$(wildcard tests/rdma/*.c)))
$(foreach t,$(RDMA_GUEST_PROGRAMS),$(call test_helper,rdma-$(t),tests/rdma/$(t).c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS)))
$(eval $(call link_rule,$(B)/tests/cut-verbs.so,tests/rdma/preload/cut_verbs.c,,,-shared))
TEST_EXTRAS += $(B)/tests/cut-verbs.so

.PHONY: check-rdma
check-rdma:
	@+$(MAKE) --no-print-directory check T=over-verbs

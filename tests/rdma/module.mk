# Programs that tests/rdma/guest runs in a machine with RDMA devices.
$(foreach t,$(patsubst tests/rdma/%.c,%,$(wildcard tests/rdma/*.c)),$(call test_helper,rdma-$(t),tests/rdma/$(t).c,rgputransport rgpucommon,$(COMMON_LIBS)))

.PHONY: check-rdma
check-rdma:
	@+$(MAKE) --no-print-directory check T=over-verbs

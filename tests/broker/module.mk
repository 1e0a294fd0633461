# SPDX-License-Identifier: BSD-3-Clause
BROKER_TEST_LIBS = $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt

$(call test_program,broker-plan,tests/broker/plan.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-capacity,tests/broker/capacity.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-queue,tests/broker/queue.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-steering,tests/broker/steering.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-adoption,tests/broker/adoption.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-bodies,tests/broker/bodies.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-reports,tests/broker/reports.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-restart,tests/broker/restart.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-pool,tests/broker/pool.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-reserve,tests/broker/reserve.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-unread-rows,tests/broker/unread_rows.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-http-head,tests/broker/http_head.c broker/http/http_head.c)
$(call test_program,broker-wal-stays-small,tests/broker/wal_stays_small.c,\
    rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-client,tests/broker/client.c,rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge)

$(call test_helper,broker-api,tests/broker/api.c,rgpucommon,-ljansson)

# An ordinary CUDA program.
TEST_EXTRAS += $(B)/tests/broker-hold-memory
$(eval $(call link_rule,$(B)/tests/broker-hold-memory,tests/broker/hold_memory.c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/broker/hold_memory.o: tests/programs/kernels.ptx

# A disk that a test stops, preloaded into the broker.
TEST_EXTRAS += $(B)/tests/sync-gate.so
$(eval $(call link_rule,$(B)/tests/sync-gate.so,tests/broker/sync_gate.c,,,-shared))

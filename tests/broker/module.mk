BROKER_TEST_LIBS = $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt

$(call test_program,broker-plan,tests/broker/plan.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-queue,tests/broker/queue.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-restart,tests/broker/restart.c,rgpubroker rgpucommon,$(BROKER_TEST_LIBS))
$(call test_program,broker-client,tests/broker/client.c,rgpucommon,\
    $$(COMMON_LIBS) -lcurl -ljansson -lmunge)

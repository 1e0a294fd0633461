# SPDX-License-Identifier: BSD-3-Clause
# A stub in place of the worker and a client, for the tests of rgpud alone.
$(call test_helper,stub-worker,tests/daemon/stub_worker.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_helper,probe-client,tests/daemon/probe_client.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_helper,hostile-client,tests/daemon/hostile_client.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_helper,tampered-login,tests/daemon/tampered_login.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_helper,rendezvous,tests/daemon/rendezvous.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_helper,issue-ticket,tests/daemon/issue_ticket.c,rgpucommon,$(COMMON_LIBS) -ljwt -ljansson)
TEST_EXTRAS += $(B)/tests/hold-memory
$(eval $(call link_rule,$(B)/tests/hold-memory,tests/daemon/hold_memory.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
TEST_EXTRAS += $(B)/tests/large-image
$(eval $(call link_rule,$(B)/tests/large-image,tests/daemon/large_image.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(call test_program,daemon-overcommit-turns,tests/daemon/overcommit_turns.c daemon/rgpud/sharing/overcommit_turns.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-share-debt,tests/daemon/share_debt.c daemon/rgpud/gpus/share_debt.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-network-share,tests/daemon/network_share.c daemon/rgpud/gpus/network_share.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-disturbance,tests/daemon/disturbance.c daemon/rgpud/disturbance.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-resource_limits,tests/daemon/resource_limits.c daemon/rgpud/box/limits.c,rgpucommon)
$(call test_program,daemon-cgroups,tests/daemon/cgroups.c daemon/spawner/cgroup.c daemon/spawner/child_start.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-revocations,tests/daemon/revocations.c daemon/rgpud/broker/revocations.c daemon/rgpud/box/state_file.c,rgpucommon,$(COMMON_LIBS))
$(call test_program,daemon-known-leases,tests/daemon/known_leases.c $(addprefix daemon/rgpud/broker/,broker_history.c served_leases.c),\
    rgpucommon,$(COMMON_LIBS) -ljansson)
$(call test_program,daemon-broker-agent,tests/daemon/broker_agent.c daemon/rgpud/box/state_file.c \
    $(addprefix daemon/rgpud/broker/,broker_agent.c broker_orders.c broker_history.c revocations.c served_leases.c),\
    rgpucommon,$(COMMON_LIBS) -ljansson)
# The software GPU with an attacker in it.
TEST_EXTRAS += $(B)/tests/hostile-driver.so
$(eval $(call link_rule,$(B)/tests/hostile-driver.so,tests/daemon/hostile_driver.c,,\
    -Wl$(comma)--no-as-needed -L$(B)/lib -l:libcuda-sim.so,-shared -Wl$(comma)-rpath$(comma)'$$$$ORIGIN',$(B)/lib/libcuda-sim.so))
# And one that takes more memory than it was asked for.
TEST_EXTRAS += $(B)/tests/leaky-driver.so
$(eval $(call link_rule,$(B)/tests/leaky-driver.so,tests/daemon/leaky_driver.c,,\
    -Wl$(comma)--no-as-needed -L$(B)/lib -l:libcuda-sim.so,-shared -Wl$(comma)-rpath$(comma)'$$$$ORIGIN',$(B)/lib/libcuda-sim.so))

TEST_EXTRAS += $(B)/tests/counting-nvml.so
$(eval $(call link_rule,$(B)/tests/counting-nvml.so,tests/daemon/counting_nvml.c,,,-shared))
TEST_EXTRAS += $(B)/tests/uninvited-mapping.so
$(eval $(call link_rule,$(B)/tests/uninvited-mapping.so,tests/daemon/uninvited_mapping.c,,,-shared))

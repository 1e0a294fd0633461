# SPDX-License-Identifier: BSD-3-Clause
# Each speaks the session protocol with a real rgpu-worker on the software GPU.
WORKER_TESTS := $(filter-out peer array_cost activity_store moved_budget,$(patsubst tests/worker/%.c,%,$(wildcard tests/worker/*.c)))
$(foreach t,$(WORKER_TESTS),$(call test_program,worker-$(t),tests/worker/$(t).c tests/worker/peer.c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS)))


$(call test_program,worker-array_cost,tests/worker/array_cost.c,rgpuworker rgpudriver rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl)

$(call test_program,worker-activity_store,tests/worker/activity_store.c,rgpuworker rgpudriver rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl)

$(call test_program,worker-moved_budget,tests/worker/moved_budget.c,rgpuworker rgpudriver rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl)


# SPDX-License-Identifier: BSD-3-Clause
# Every decoder has a target here. Each is an ordinary test over its corpus (tests/fuzz/runner.c says
# how), and a program for libFuzzer:
#   make fuzz SECONDS=600 [SEED=1] [T=name]    all of them one after the other, SECONDS in all
FUZZ_SAN := fuzzer-no-link,address,undefined
FUZZ_TARGETS :=
FUZZ_PROGRAMS :=

# $(call fuzz_target,NAME,ARCHIVES,LIBS,MORE SOURCES)
define fuzz_target_rule
FUZZ_TARGETS += $(1)
$(call test_program_rule,fuzz-$(1),tests/fuzz/$(1)_fuzz.c tests/fuzz/runner.c $(4),$(2),$(3))
FUZZ_PROGRAMS += $(B)/fuzz/$(1)
$(call link_rule,$(B)/fuzz/$(1),tests/fuzz/$(1)_fuzz.c $(4),$(2),$(3) -fsanitize=fuzzer -rdynamic)
endef
fuzz_target = $(eval $(call fuzz_target_rule,$(1),$(2),$(3),$(4)))

$(call fuzz_target,image,rgpudriver rgpucommon,$(DRIVER_LIBS))
$(call fuzz_target,control,rgpucommon)
$(call test_helper,control-corpus,tests/fuzz/control_corpus.c,rgpucommon)
$(call fuzz_target,shm_ring,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call fuzz_target,tcp_stream,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call fuzz_target,worker_request,rgpuworker rgpudriver rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl)
$(call test_helper,worker-corpus,tests/fuzz/worker_corpus.c,rgpucommon)
$(call fuzz_target,ptx,rgpuptx,-lm)
$(call fuzz_target,ticket,rgpucommon,$(COMMON_LIBS) -ljwt -ljansson)
$(call fuzz_target,broker_request,rgpubroker rgpucommon,$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt)
$(call fuzz_target,broker_http,rgpubroker rgpucommon,$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt -levent -lmunge -lsystemd,\
    $(filter-out broker/main.c,$(BROKER_PROGRAM_SOURCES)))
$(call fuzz_target,broker_answer,rgpucommon,$(COMMON_LIBS) -ljansson -lmunge -ljwt)
$(call fuzz_target,configuration,rgpucommon,$(COMMON_LIBS),daemon/box_settings.c)
$(call fuzz_target,tls_identity,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) -ljwt -ljansson)
$(call fuzz_target,snapshot,rgpucommon,,client-lib/session/snapshot_read.c client-lib/session/known_paths.c $(B)/gen/cuda_ops.c)
$(call fuzz_target,texts,rgpucommon,$(COMMON_LIBS))
$(call fuzz_target,revocations,rgpucommon,$(COMMON_LIBS),daemon/revocations.c daemon/state_file.c)
$(call fuzz_target,slurm_texts,rgpuslurm rgpucommon,$(COMMON_LIBS) -ljansson -lmunge)

.PHONY: fuzz fuzz-built
fuzz:
	@scripts/install-deps build fuzz
	@+$(MAKE) $(jobs) --no-print-directory CC=clang SAN=$(FUZZ_SAN) fuzz-built

fuzz-built: $$(if $$(findstring fuzzer,$$(SAN)),$$(FUZZ_PROGRAMS) $(B)/lib/libcuda-sim.so)
	@BUILD="$(CURDIR)/$(B)" $(PYTHON) tests/fuzz/campaign.py --seconds $(SECONDS) --seed $(or $(SEED),1) \
	    $(foreach t,$(FUZZ_TARGETS),$(if $(T),$(if $(findstring $(T),$(t)),$(t)),$(t)))

# SPDX-License-Identifier: BSD-3-Clause
# Every decoder has a target here. Each is an ordinary test over its corpus (tests/fuzz/runner.c says
# how), and a program for libFuzzer, which tests/fuzz/new-inputs.t runs in `make check-world` and
#   make fuzz SECONDS=600 [SEED=1] [T=name]    all of them one after the other, SECONDS in all
# does for longer. Both build the same objects, and only those that the targets are linked from. Without the coverage
# that clang adds, a fuzzer does not find its way, so they are no other sanitized build's.
FUZZ_BUILD := CC=clang SAN=fuzzer-no-link,address,undefined CFLAGS="-O1 -gline-tables-only" WERROR=
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
FUZZ_WORKER := rgpuworker rgpudriver rgputransport rgpucommon
FUZZ_WORKER_LIBS := $(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl
$(call fuzz_target,worker_request,$(FUZZ_WORKER),$(FUZZ_WORKER_LIBS),tests/fuzz/software_gpu.c \
    tests/fuzz/worker_request_mutator.c $(B)/gen/request_shapes.c)
$(call fuzz_target,peer_frames,$(FUZZ_WORKER),$(FUZZ_WORKER_LIBS),tests/fuzz/software_gpu.c)
$(call test_helper,worker-corpus,tests/fuzz/worker_corpus.c,rgpucommon)
$(call fuzz_target,ptx,rgpuptx,-lm)
$(call fuzz_target,ticket,rgpucommon,$(COMMON_LIBS) -ljwt -ljansson)
$(call fuzz_target,broker_request,rgpubroker rgpucommon,$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt)
$(call fuzz_target,broker_http,rgpubroker rgpucommon,$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt -levent -lmunge -lsystemd,\
    $(filter-out broker/main.c,$(BROKER_PROGRAM_SOURCES)))
$(call fuzz_target,broker_answer,rgpucommon,$(COMMON_LIBS) -ljansson -lmunge -ljwt)
$(call fuzz_target,configuration,rgpucommon,$(COMMON_LIBS),daemon/rgpud/box/box_settings.c)
$(call fuzz_target,tls_identity,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) -ljwt -ljansson)
$(call fuzz_target,snapshot,rgpucommon,,client-lib/cuda/session/snapshot_read.c $(B)/gen/cuda_ops.c)
$(call fuzz_target,texts,rgpucommon,$(COMMON_LIBS))
$(call fuzz_target,revocations,rgpucommon,$(COMMON_LIBS),daemon/rgpud/broker/revocations.c daemon/rgpud/box/state_file.c)
$(call fuzz_target,slurm_texts,rgpuslurm rgpucommon,$(COMMON_LIBS) -ljansson -lmunge)

.PHONY: fuzz fuzz-built fuzz-programs fuzz-programs-built
fuzz:
	@scripts/install-deps build fuzz
	@+$(MAKE) $(jobs) --no-print-directory $(FUZZ_BUILD) fuzz-built

fuzz-built: fuzz-programs-built
	@BUILD="$(CURDIR)/$(B)" $(PYTHON) tests/fuzz/campaign.py --seconds $(SECONDS) --seed $(or $(SEED),1) \
	    $(foreach t,$(FUZZ_TARGETS),$(if $(T),$(if $(findstring $(T),$(t)),$(t)),$(t)))

# Without running them; the last line is the folder that they are in.
fuzz-programs:
	@+$(MAKE) $(jobs) --no-print-directory $(FUZZ_BUILD) fuzz-programs-built

fuzz-programs-built: $$(if $$(findstring fuzzer,$$(SAN)),$$(FUZZ_PROGRAMS) $(B)/lib/libcuda-sim.so)
	@echo "$(CURDIR)/$(B)"

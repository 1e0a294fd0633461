# Fuzz targets as ordinary tests (tests/fuzz/runner.c says how).
fuzz_test = $(call test_program,fuzz-$(1),tests/fuzz/$(1)_fuzz.c tests/fuzz/runner.c,$(2),$(3))
$(call fuzz_test,image,rgpudriver rgpucommon,$(DRIVER_LIBS))
$(call fuzz_test,control,rgpucommon)
$(call test_helper,control-corpus,tests/fuzz/control_corpus.c,rgpucommon)
$(call fuzz_test,shm_ring,rgputransport rgpucommon,$(COMMON_LIBS))
$(call fuzz_test,tcp_stream,rgputransport rgpucommon,$(COMMON_LIBS))
$(call fuzz_test,worker_request,rgpuworker rgputransport rgpucommon,$(COMMON_LIBS) -lseccomp -ldl)
$(call test_helper,worker-corpus,tests/fuzz/worker_corpus.c,rgpucommon)

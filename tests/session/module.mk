# SPDX-License-Identifier: BSD-3-Clause
# Programs on the library that scripts start, here and in other folders.
SESSION_PROGRAMS := error-logs visible-list copy-pattern registered-elsewhere graph-running images-running \
                    graph-handles token-holder variable-clash pinned-faults managed-touch entry-points java-beside \
                    held-data left-behind out-of-reach window-filler any-order memory-in-any-order path-copies wide-copies \
                    host-memory uring-user addresses-taken freed-at-the-end
define session_program
TEST_EXTRAS += $(B)/tests/$(1)
$(call link_rule,$(B)/tests/$(1),tests/session/$(subst -,_,$(1)).c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl,,$(B)/lib/libcuda.so.1)
$(B)/obj/tests/session/$(subst -,_,$(1)).o: tests/programs/kernels.ptx
endef
$(foreach p,$(SESSION_PROGRAMS),$(eval $(call session_program,$(p))))
$(B)/obj/tests/session/images_running.o: tests/programs/images.ptx

$(call test_helper,resume-claims,tests/session/resume_claims.c,rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))
$(call test_program,session-stopwatch,tests/session/stopwatch.c client-lib/cuda/report/stopwatch.c common/base/descriptor.c)
$(call test_program,session-idle_or_not,tests/session/idle_or_not.c client-lib/cuda/objects/known_idle.c $(B)/gen/cuda_ops.c)

# It has the kernel refuse system calls.
TEST_EXTRAS += $(B)/tests/rough-process
$(eval $(call link_rule,$(B)/tests/rough-process,tests/session/rough_process.c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl -lseccomp,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/rough_process.o: tests/programs/kernels.ptx

# Linked without the library, which they load.
$(call test_helper,loaded-apart,tests/session/loaded_apart.c,,-ldl)
$(call test_helper,reloaded,tests/session/reloaded.c,,-ldl)
TEST_EXTRAS += $(B)/tests/reloaded-static
$(B)/tests/reloaded-static: tests/session/reloaded.c tests/tap.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CPPFLAGS) -std=gnu11 -O2 -g -fPIE -static-pie -Wl,--no-warnings -o $@ $<

# Programs with sanitizers, on the library without.
ifeq ($(SAN),)
SANITIZED := managed managed-system mapped-host
define sanitized_rule
TEST_EXTRAS += $(B)/tests/sanitized/$(1)-$(2)
$(B)/tests/sanitized/$(1)-$(2): tests/programs/$(1).c $(wildcard tests/programs/*.h) tests/tap.h \
    tests/programs/kernels.ptx $(B)/lib/libcuda.so.1
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(ALL_CPPFLAGS) -std=gnu11 -O1 -g -fsanitize=$(2) -pthread -o $$@ $$< -L$(B)/lib -l:libcuda.so.1 -lm
endef
$(foreach p,$(SANITIZED),$(foreach s,address thread,$(eval $(call sanitized_rule,$(p),$(s)))))
endif

$(call test_helper,window-vandal,tests/session/window_vandal.c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))


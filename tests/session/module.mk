# SPDX-License-Identifier: BSD-3-Clause
TEST_EXTRAS += $(B)/tests/error-logs
$(eval $(call link_rule,$(B)/tests/error-logs,tests/session/error_logs.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/error_logs.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/visible-list
$(eval $(call link_rule,$(B)/tests/visible-list,tests/session/visible_list.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))

TEST_EXTRAS += $(B)/tests/copy-pattern
$(eval $(call link_rule,$(B)/tests/copy-pattern,tests/session/copy_pattern.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))

TEST_EXTRAS += $(B)/tests/registered-elsewhere
$(eval $(call link_rule,$(B)/tests/registered-elsewhere,tests/session/registered_elsewhere.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/registered_elsewhere.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/graph-running
$(eval $(call link_rule,$(B)/tests/graph-running,tests/session/graph_running.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/graph_running.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/images-running
$(eval $(call link_rule,$(B)/tests/images-running,tests/session/images_running.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/images_running.o: tests/programs/images.ptx tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/graph-handles
$(eval $(call link_rule,$(B)/tests/graph-handles,tests/session/graph_handles.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/graph_handles.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/token-holder
$(eval $(call link_rule,$(B)/tests/token-holder,tests/session/token_holder.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/token_holder.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/variable-clash
$(eval $(call link_rule,$(B)/tests/variable-clash,tests/session/variable_clash.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/variable_clash.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/pinned-faults
$(eval $(call link_rule,$(B)/tests/pinned-faults,tests/session/pinned_faults.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/pinned_faults.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/managed-touch
$(eval $(call link_rule,$(B)/tests/managed-touch,tests/session/managed_touch.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/managed_touch.o: tests/programs/kernels.ptx
$(call test_program,session-stopwatch,tests/session/stopwatch.c client-lib/report/stopwatch.c)

TEST_EXTRAS += $(B)/tests/entry-points
$(eval $(call link_rule,$(B)/tests/entry-points,tests/session/entry_points.c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/entry_points.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/java-beside
$(eval $(call link_rule,$(B)/tests/java-beside,tests/session/java_beside.c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/java_beside.o: tests/programs/kernels.ptx

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

TEST_EXTRAS += $(B)/tests/held-data
$(eval $(call link_rule,$(B)/tests/held-data,tests/session/held_data.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/held_data.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/left-behind
$(eval $(call link_rule,$(B)/tests/left-behind,tests/session/left_behind.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/left_behind.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/out-of-reach
$(eval $(call link_rule,$(B)/tests/out-of-reach,tests/session/out_of_reach.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/out_of_reach.o: tests/programs/kernels.ptx

TEST_EXTRAS += $(B)/tests/window-filler
$(eval $(call link_rule,$(B)/tests/window-filler,tests/session/window_filler.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/window_filler.o: tests/programs/kernels.ptx
$(call test_helper,window-vandal,tests/session/window_vandal.c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS))

TEST_EXTRAS += $(B)/tests/any-order
$(eval $(call link_rule,$(B)/tests/any-order,tests/session/any_order.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/any_order.o: tests/programs/kernels.ptx

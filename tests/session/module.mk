# SPDX-License-Identifier: BSD-3-Clause
TEST_EXTRAS += $(B)/tests/error-logs
$(eval $(call link_rule,$(B)/tests/error-logs,tests/session/error_logs.c,,\
    -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/tests/session/error_logs.o: tests/programs/kernels.ptx

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

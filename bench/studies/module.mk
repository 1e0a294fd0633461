# SPDX-License-Identifier: BSD-3-Clause
# Studies of the cost of remote GPUs: the programs, and `make studies`, which measures all that this machine supports.
#   make studies STUDIES="copies calls" STUDY_ARGS="--rounds 3"

STUDY_PROGRAMS :=

# $(call study_program,NAME): bench/studies/programs/NAME.c, an ordinary program of the Driver API.
define study_program_rule
STUDY_PROGRAMS += $(B)/bench/studies/$(1)
$(call link_rule,$(B)/bench/studies/$(1),bench/studies/programs/$(1).c,,-L$(B)/lib -l:libcuda.so.1 -lm,,$(B)/lib/libcuda.so.1)
$(B)/obj/bench/studies/programs/$(1).o: tests/programs/kernels.ptx
endef
study_program = $(eval $(call study_program_rule,$(1)))

$(call study_program,copy_speed)
$(call study_program,two_kernels)
$(call study_program,call_cost)
$(call study_program,own_kernels)
$(call study_program,jacobi)
$(B)/obj/bench/studies/programs/jacobi.o: bench/studies/programs/stencil.ptx

$(call study_program,collective_calls)

# Put and notify, as in the dCUDA paper.
STUDY_PROGRAMS += $(B)/bench/studies/ping_pong
$(eval $(call link_rule,$(B)/bench/studies/ping_pong,bench/studies/programs/ping_pong.c,,\
  -L$(B)/lib -l:librgpu.so.1 -l:libcuda.so.1,,$(B)/lib/librgpu.so.1 $(B)/lib/libcuda.so.1))
$(B)/obj/bench/studies/programs/ping_pong.o: EXTRA_CPPFLAGS := -Iclient-lib/putnotify
$(B)/obj/bench/studies/programs/ping_pong.o: tests/programs/kernels.ptx bench/studies/programs/ping_pong.ptx

# A load for the processors. Without OpenBLAS it is not built, and studies that need it report that.
ifneq ($(wildcard /usr/include/*/cblas.h /usr/include/cblas.h),)
STUDY_PROGRAMS += $(B)/bench/studies/cpu_sgemm
$(eval $(call link_rule,$(B)/bench/studies/cpu_sgemm,bench/studies/programs/cpu_sgemm.c,,-lopenblas))
endif

# Products by cuBLAS. bench/studies/build-lammps builds LAMMPS.
$(B)/bench/studies/blas: NVCC_LIBS := -lcublas
$(addprefix $(B)/bench/studies/,blas ordinary_calls): $(B)/bench/studies/%: bench/studies/programs/%.cu
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -std=c++17 -O2 -arch=sm_90 -Xlinker -rpath,$(CUDA_LIBRARY_PATH) -o $@ $< $(NVCC_LIBS)

.PHONY: studies studies-built study-programs
study-programs: $(STUDY_PROGRAMS) $(B)/bench/measure $(B)/bench/between $$(if $$(NVCC),$$(addprefix $$(B)/bench/studies/,blas ordinary_calls)) \
    $$(addprefix $$(B)/examples/,$$(TEAM_EXAMPLES)) $$(addprefix $$(B)/tests/programs/,$$(PROGRAM_NAMES))
studies:
	@scripts/install-deps build bench studies
	@+$(MAKE) $(jobs) --no-print-directory studies-built
studies-built: all bench-programs study-programs
	@results=$$(bench/studies/run --build $(B) $(STUDY_ARGS) $(STUDIES)) && bench/studies/report "$$results"
TEST_EXTRAS += $(STUDY_PROGRAMS) $(B)/bench/measure $(B)/bench/between

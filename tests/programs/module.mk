# SPDX-License-Identifier: BSD-3-Clause
# Programs that know nothing of this project; tests run them natively and through a box.
# C programs use the Driver API with PTX text and are linked with libcuda.so.1 as any program is.
# CUDA C++ programs need nvcc, and are linked with the runtime statically and dynamically.

PROGRAM_NAMES := saxpy matmul reduce overlap callbacks pinned threads devices print copies traps \
                 rectangles pools fault forks linking modules cooperative queries contexts \
                 handles exits idle lookup endure allocations large refusals \
                 starved keys tables crossing draining virtual registered sharing pool-sharing ranks \
                 waiting_elsewhere batches capabilities peers managed managed-random textures \
                 managed-variables managed-system mapped-host mapped-on-demand managed-several \
                 freed-in-order freed-random
P := $(B)/tests/programs
PROGRAM_NAMES += repeated old-launches green commanded small-copies late-code late-copy
PROGRAM_NAMES += repeated-peers asserts allocated-again asked-again held-copies

$(foreach p,$(PROGRAM_NAMES),\
  $(eval $(call link_rule,$(P)/$(p),tests/programs/$(p).c,,\
    -L$(B)/lib -l:libcuda.so.1 -lm -ldl,,$(B)/lib/libcuda.so.1)))
$(PROGRAM_NAMES:%=$(B)/obj/tests/programs/%.o): tests/programs/kernels.ptx
$(B)/obj/tests/programs/print.o $(B)/obj/tests/programs/late-code.o: tests/programs/printing.ptx
$(B)/obj/tests/programs/textures.o $(B)/obj/tests/programs/array-reads-random.o: tests/programs/images.ptx

# Programs with graphs; tests/sim runs them on the software GPU, tests/session through a box.
GRAPH_PROGRAM_NAMES := $(patsubst tests/programs/%.c,%,$(wildcard tests/programs/graph-*.c))
$(foreach p,$(GRAPH_PROGRAM_NAMES),\
  $(eval $(call link_rule,$(P)/graph/$(p),tests/programs/$(p).c,,\
    -L$(B)/lib -l:libcuda.so.1 -lm -ldl,,$(B)/lib/libcuda.so.1)))
$(GRAPH_PROGRAM_NAMES:%=$(B)/obj/tests/programs/%.o): tests/programs/kernels.ptx

# Programs with arrays, likewise.
ARRAY_PROGRAM_NAMES := $(patsubst tests/programs/%.c,%,$(wildcard tests/programs/array-*.c))
$(foreach p,$(ARRAY_PROGRAM_NAMES),\
  $(eval $(call link_rule,$(P)/array/$(p),tests/programs/$(p).c,,\
    -L$(B)/lib -l:libcuda.so.1 -lm -ldl,,$(B)/lib/libcuda.so.1)))
$(ARRAY_PROGRAM_NAMES:%=$(B)/obj/tests/programs/%.o): tests/programs/kernels.ptx

NVCC ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
CU_NAMES := saxpy matmul reduce overlap callbacks pinned threads devices print rectangles pools \
            errors per_thread cooperative managed
# These need libraries that the toolkit has, and a real GPU (cuBLAS has machine code only).
CU_LIBRARY_NAMES := sgemm compile

CU_PROGRAMS := $(CU_NAMES:%=$(P)/static/%) $(CU_NAMES:%=$(P)/shared/%) \
               $(CU_LIBRARY_NAMES:%=$(P)/shared/%)
CUDA_LIBRARY_PATH = $(dir $(patsubst %/,%,$(dir $(realpath $(NVCC)))))lib64
CU_LINK = $(NVCC) -Xcompiler -pthread -Xlinker -rpath,$(CUDA_LIBRARY_PATH) -o $@ $<

# Without a name for the architecture nvcc embeds PTX for the oldest one it knows.
$(P)/cu/%.o: tests/programs/runtime/%.cu tests/programs/runtime/runtime.h tests/tap.h
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -std=c++17 -O2 -arch=$(CU_ARCH) $(CU_FLAGS) -I. -Itests/programs/runtime -c -o $@ $<
CU_ARCH := sm_90
$(P)/cu/saxpy.o: CU_ARCH := sm_75
$(P)/cu/per_thread.o: CU_FLAGS := --default-stream per-thread
$(P)/shared/sgemm: CU_LIBS := -lcublas
$(P)/shared/compile: CU_LIBS := -lnvrtc
$(P)/static/%: $(P)/cu/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CU_LINK) -cudart static
$(P)/shared/%: $(P)/cu/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CU_LINK) -cudart shared $(CU_LIBS)

TEST_EXTRAS += $(PROGRAM_NAMES:%=$(P)/%) $(GRAPH_PROGRAM_NAMES:%=$(P)/graph/%) \
               $(ARRAY_PROGRAM_NAMES:%=$(P)/array/%) $(B)/examples/vector
ifneq ($(NVCC),)
TEST_EXTRAS += $(CU_PROGRAMS)
endif
.SECONDARY: $(patsubst %,$(P)/cu/%.o,$(CU_NAMES) $(CU_LIBRARY_NAMES))

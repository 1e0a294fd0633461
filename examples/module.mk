# SPDX-License-Identifier: BSD-3-Clause
# Ordinary CUDA programs, for `make demo` and for a first try of one's own.

EXAMPLES := $(B)/examples/vector
$(eval $(call link_rule,$(B)/examples/vector,examples/vector.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/examples/vector.o: tests/programs/kernels.ptx

# Programs with librgpu.
TEAM_EXAMPLES := exchange stencil power sparse particles
EXAMPLES += $(TEAM_EXAMPLES:%=$(B)/examples/%)
$(foreach p,$(TEAM_EXAMPLES),$(eval $(call link_rule,$(B)/examples/$(p),examples/$(p).c,,\
  -L$(B)/lib -l:librgpu.so.1 -l:libcuda.so.1 -lm,,$(B)/lib/librgpu.so.1 $(B)/lib/libcuda.so.1)))
$(TEAM_EXAMPLES:%=$(B)/obj/examples/%.o): EXTRA_CPPFLAGS := -Iclient-lib/putnotify -Iexamples/without-toolkit
$(TEAM_EXAMPLES:%=$(B)/obj/examples/%.o): examples/apps.ptx

$(B)/examples/vector-runtime: examples/vector.cu
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -std=c++17 -O2 -arch=sm_75 -cudart static -o $@ $<

.PHONY: examples demo demo-built
examples: $(EXAMPLES) $$(if $$(NVCC),$$(B)/examples/vector-runtime)
demo:
	@scripts/install-deps build demo
	@+$(MAKE) $(jobs) --no-print-directory demo-built
demo-built: all examples
	@scripts/demo $(B)
	@scripts/demo-pool $(B)

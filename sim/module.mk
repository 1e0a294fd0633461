# SPDX-License-Identifier: BSD-3-Clause
# The software GPU: libcuda-sim.so, loaded by a worker in place of the real driver, or by programs
# directly from build/lib/sim, where it goes by the driver's own name.
SIM_SOURCES := $(wildcard $(patsubst %,sim/%/*.c,engine memory stream code array graph image)) sim/sim_config.c sim/uuid.c sim/mps/mps_client.c sim/mps/mps_address.c \
               $(B)/gen/weak_calls.c $(B)/gen/proc_table.c

SIM_ARCHIVES := rgpuptx rgpudriver rgpucommon
SIM_LIBS = $(DRIVER_LIBS) -lm
SIM_FLAGS := -Wl$(comma)-soname$(comma)libcuda.so.1 -Wl$(comma)-z$(comma)nodelete -Wl$(comma)-Bsymbolic

$(call shared_library,libcuda-sim.so,$(SIM_SOURCES),$(SIM_ARCHIVES),$(SIM_LIBS),\
    $(SIM_FLAGS) -Wl$(comma)--version-script=$(B)/gen/libcuda.map,$(B)/gen/libcuda.map)

# The control program of its MPS; a box with real GPUs uses NVIDIA's.
$(call program,rgpu-sim-mps-control,$(filter-out sim/mps/mps_client.c,$(wildcard sim/mps/*.c)),rgpucommon,$(COMMON_LIBS))
INSTALL_FILES += $(B)/bin/rgpu-sim-mps-control:$(LIBEXECDIR)/rgpu-sim-mps-control:0755:box

$(B)/lib/sim/libcuda.so.1: $(B)/lib/libcuda-sim.so
	@mkdir -p $(@D)
	@ln -sf ../libcuda-sim.so $@
EXTRAS += $(B)/lib/sim/libcuda.so.1

# Its NVML library, which reports the memory taken on the software GPUs of a box.
$(call shared_library,libnvidia-ml-sim.so,sim/nvml/nvml.c sim/engine/shared_state.c sim/sim_config.c sim/uuid.c,\
    rgpucommon,,-Wl$(comma)-soname$(comma)libnvidia-ml.so.1)
INSTALL_FILES += $(B)/lib/libnvidia-ml-sim.so:$(LIBDIR)/libnvidia-ml-sim.so:0755:box

SIM_TESTS := $(wildcard tests/sim/*.c)
SIM_TEST_LIBS := -L$(B)/lib/sim -l:libcuda.so.1 -Wl$(comma)-rpath$(comma)$(CURDIR)/$(B)/lib/sim
$(foreach t,$(SIM_TESTS),\
  $(call test_program,sim-$(basename $(notdir $(t))),$(t),,$(SIM_TEST_LIBS)))
$(patsubst tests/sim/%.c,$(B)/tests/sim-%,$(SIM_TESTS)): $(B)/lib/sim/libcuda.so.1
$(patsubst tests/sim/%.c,$(B)/obj/tests/sim/%.o,$(SIM_TESTS)): tests/programs/kernels.ptx
$(B)/obj/tests/sim/printed-text-appears-when-synchronized.o: tests/programs/printing.ptx
INSTALL_FILES += $(B)/lib/libcuda-sim.so:$(LIBDIR)/libcuda-sim.so:0755:box

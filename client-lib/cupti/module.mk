# SPDX-License-Identifier: BSD-3-Clause
# libcupti.so.12 and .13: the stand-ins for CUPTI's library, by which torch.profiler and others see what remote GPUs did.
# They stay in a process that has loaded them, since libcuda.so.1 calls them. Programs that were linked with CUPTI ask for
# names of a version that is called like the library.
CUPTI_SOURCES := $(filter-out client-lib/cupti/release_%.c,$(wildcard client-lib/cupti/*.c))
$(foreach n,12 13,\
  $(call program_library,libcupti.so.$(n),$(CUPTI_SOURCES) client-lib/cupti/release_$(n).c,,-ldl,\
    -Wl$(comma)-soname$(comma)libcupti.so.$(n) -Wl$(comma)-Bsymbolic -Wl$(comma)-z$(comma)nodelete \
    -Wl$(comma)--version-script=client-lib/cupti/libcupti-$(n).map,client-lib/cupti/libcupti-$(n).map)\
  $(eval INSTALL_FILES += $(B)/lib/libcupti.so.$(n):$(LIBDIR)/libcupti.so.$(n):0755:client))

# SPDX-License-Identifier: GPL-2.0-or-later
$(call test_program,slurm-request,tests/slurm/request.c,rgpuslurm rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge)
$(call test_program,slurm-count,tests/slurm/count.c,rgpuslurm rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge)
ifneq ($(wildcard $(SLURM_PREFIX)/include/slurm/slurm.h),)
$(call test_helper,slurm-watch-licenses,tests/slurm/watch_licenses.c,rgpucommon,$$(COMMON_LIBS) $(SLURM_LIBRARY) -lslurm)
$(B)/obj/tests/slurm/watch_licenses.o: EXTRA_CPPFLAGS := $(SLURM_INCLUDE)
endif

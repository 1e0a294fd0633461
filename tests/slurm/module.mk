# SPDX-License-Identifier: GPL-2.0-or-later
$(call test_program,slurm-request,tests/slurm/request.c,rgpuslurm rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge)
$(call test_program,slurm-count,tests/slurm/count.c,rgpuslurm rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge)

# SPDX-License-Identifier: BSD-3-Clause
# rgpu-suspender loads the driver at run time, as workers do.
$(call program,rgpu-suspender,suspender/main.c suspender/checkpoint_calls.c suspender/gpu_pairs.c,rgpucommon,$(COMMON_LIBS) -ldl)
INSTALL_FILES += $(B)/bin/rgpu-suspender:$(LIBEXECDIR)/rgpu-suspender:0755:box

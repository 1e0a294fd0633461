# SPDX-License-Identifier: BSD-3-Clause
# The processes of rgpu-suspender load the driver at run time, as workers do.
$(call program,rgpu-suspender,daemon/suspender/main.c daemon/suspender/driver_process.c daemon/suspender/checkpoint_calls.c daemon/suspender/gpu_pairs.c,rgpucommon,$(COMMON_LIBS) -ldl)
INSTALL_FILES += $(B)/bin/rgpu-suspender:$(LIBEXECDIR)/rgpu-suspender:0755:box

# SPDX-License-Identifier: BSD-3-Clause
# rgpu-gauge loads the management library at run time; nothing of a GPU is linked or included.
$(call program,rgpu-gauge,gauge/main.c gauge/busy.c gauge/questions.c,rgpucommon,$(COMMON_LIBS) -ldl)
INSTALL_FILES += $(B)/bin/rgpu-gauge:$(LIBEXECDIR)/rgpu-gauge:0755:box

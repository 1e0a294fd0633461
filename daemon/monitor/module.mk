# SPDX-License-Identifier: BSD-3-Clause
# The GPU monitor loads the management library at run time. It neither links nor includes GPU code.
$(call program,rgpu-monitor,$(wildcard daemon/monitor/*.c),rgpucommon,$(COMMON_LIBS) -ldl)
INSTALL_FILES += $(B)/bin/rgpu-monitor:$(LIBEXECDIR)/rgpu-monitor:0755:box

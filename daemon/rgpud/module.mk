# SPDX-License-Identifier: BSD-3-Clause
# The box daemon. It links neither CUDA nor verbs; only workers touch GPUs.
RGPUD_SOURCES := $(wildcard daemon/rgpud/*.c daemon/rgpud/*/*.c)

$(call program,rgpud,$(RGPUD_SOURCES),rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) -levent_core -levent_extra -ljansson -ljwt -lsystemd -lseccomp)
$(call program,rgpu-mps,daemon/mps/mps_supervisor.c,rgpucommon,$(COMMON_LIBS))
INSTALL_FILES += $(B)/bin/rgpu-mps:$(LIBEXECDIR)/rgpu-mps:0755:box
INSTALL_FILES += common/service/daemon.bash-completion:$(COMPLETIONDIR)/rgpud:0644:box
INSTALL_FILES += $(B)/bin/rgpud:$(SBINDIR)/rgpud:0755:box

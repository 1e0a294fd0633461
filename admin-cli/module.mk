# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl; each group of commands has a file of its own, entered in main.c.
RGPUCTL_SOURCES := $(wildcard admin-cli/*.c admin-cli/*/*.c)

$(call program,rgpuctl,$(RGPUCTL_SOURCES),rgpucommon,\
    $$(COMMON_LIBS) -ljansson -lmunge -lsmartcols -ldl -lm)
INSTALL_FILES += $(B)/bin/rgpuctl:$(BINDIR)/rgpuctl:0755:tools \
                 admin-cli/rgpuctl.bash-completion:$(COMPLETIONDIR)/rgpuctl:0644:tools

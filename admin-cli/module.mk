# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl; each group of commands has a file of its own, entered in main.c.
RGPUCTL_SOURCES := $(wildcard admin-cli/*.c admin-cli/*/*.c)

# Versions of jansson differ in the names of its symbols' versions, so it is static where there is a static one.
JANSSON := $(if $(wildcard /usr/lib/*/libjansson.a /usr/lib64/libjansson.a),-l:libjansson.a,-ljansson)
$(call node_program,rgpuctl,$(RGPUCTL_SOURCES),rgpucommon,\
    $$(COMMON_LIBS) $(JANSSON) -lmunge -lsmartcols -ldl -lm)
INSTALL_FILES += $(B)/bin/rgpuctl:$(BINDIR)/rgpuctl:0755:tools \
                 admin-cli/rgpuctl.bash-completion:$(COMPLETIONDIR)/rgpuctl:0644:tools \
                 admin-cli/rgpuctl.zsh-completion:$(ZSHDIR)/_rgpuctl:0644:tools \
                 admin-cli/rgpuctl.fish-completion:$(PREFIX)/share/fish/vendor_completions.d/rgpuctl.fish:0644:tools

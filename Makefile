# SPDX-License-Identifier: BSD-3-Clause
# rgpu: one non-recursive makefile. Each folder describes what it builds in its module.mk
# with the macros of scripts/make/rules.mk; nothing else starts a compiler.

.DEFAULT_GOAL := all
VERSION := 0.2.0

include scripts/make/config.mk
include scripts/make/rules.mk
include scripts/make/install.mk
include $(sort $(wildcard */module.mk */*/module.mk */*/*/module.mk))

.PHONY: all clean install
all: $(PROGRAMS) $(LIBRARIES) $(EXTRAS)

clean:
	rm -rf build

install: all $(INSTALL_TARGETS)

# What docs/design/code.md says of formatting is done.
.PHONY: format
format:
	@scripts/format

# compile_commands.json for editors and clangd: the commands as make would run them now.
COMPDB ?= compile_commands.json
.PHONY: compdb
compdb:
	@$(MAKE) --no-print-directory -nB V=1 all tests bench-programs study-programs | scripts/compdb >$(COMPDB)

# What names the version includes this, so that another one compiles nothing else anew.
GENERATED += $(B)/gen/version.h
$(B)/gen/version.h: Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)echo '#define RGPU_VERSION "$(VERSION)"' >$@

-include $(DEPFILES)

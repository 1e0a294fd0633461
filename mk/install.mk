# What `make install` puts where. Each module.mk says it with
#   INSTALL_FILES += SOURCE:DESTINATION:MODE      MODE is e.g. 0755, or `config`: 0644, and an
#                                                 existing file stays
# Sources of @BINDIR@ and the like are templates: $(call template,SOURCE.in) -> $(B)/SOURCE

BINDIR      ?= $(PREFIX)/bin
SBINDIR     ?= $(PREFIX)/sbin
LIBDIR      ?= $(PREFIX)/lib/rgpu
LIBEXECDIR  ?= $(PREFIX)/libexec/rgpu
MANDIR      ?= $(PREFIX)/share/man
UNITDIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

INSTALL_FILES   :=
INSTALL_TARGETS += install-files

define template_rule
EXTRAS += $(B)/$(patsubst %.in,%,$(1))
$(B)/$(patsubst %.in,%,$(1)): $(1) mk/install.mk mk/config.mk
	@mkdir -p $$(@D)
	sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SBINDIR@|$(SBINDIR)|g' \
	    -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' $(1) > $$@
endef
template = $(eval $(call template_rule,$(1)))

.PHONY: install-files
install-files: all
	@for entry in $(INSTALL_FILES); do \
	    source=$${entry%%:*}; rest=$${entry#*:}; target=$(DESTDIR)$${rest%%:*}; mode=$${rest#*:}; \
	    if [ "$$mode" = config ]; then \
	        [ ! -e "$$target" ] || continue; mode=0644; \
	    fi; \
	    echo "install $$target"; \
	    install -D -m "$$mode" "$$source" "$$target" || exit 1; \
	done

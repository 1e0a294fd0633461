# SPDX-License-Identifier: BSD-3-Clause
# What `make install` puts where. Each module.mk says it with
#   INSTALL_FILES += SOURCE:DESTINATION:MODE      MODE is e.g. 0755, or `config`: 0644, and an
#                                                 existing file stays
# In a SOURCE that ends in .in, @BINDIR@ and the like are replaced on the way.

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

fill_template = sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SBINDIR@|$(SBINDIR)|g' \
    -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' -e 's|@LIBDIR@|$(LIBDIR)|g'

.PHONY: install-files
install-files: all
	@for entry in $(INSTALL_FILES); do \
	    source=$${entry%%:*}; rest=$${entry#*:}; target=$(DESTDIR)$${rest%%:*}; mode=$${rest#*:}; \
	    if [ "$$mode" = config ]; then \
	        [ ! -e "$$target" ] || continue; mode=0644; \
	    fi; \
	    echo "install $$target"; \
	    case "$$source" in \
	    *.in) $(fill_template) "$$source" | install -D -m "$$mode" /dev/stdin "$$target" ;; \
	    *) install -D -m "$$mode" "$$source" "$$target" ;; \
	    esac || exit 1; \
	done

# SPDX-License-Identifier: BSD-3-Clause
# What `make install` puts where. Each module.mk says it with
#   INSTALL_FILES += SOURCE:DESTINATION:MODE:PART MODE is e.g. 0755, or `config`: 0644, and an
#                                                 existing file stays; PART is client, tools, box,
#                                                 broker or slurm, and its package's name
# `make install ONLY=box` installs one part, `make install-list ONLY=box` names its files.
# In a SOURCE that ends in .in, @BINDIR@ and the like are replaced on the way.

BINDIR      ?= $(PREFIX)/bin
SBINDIR     ?= $(PREFIX)/sbin
LIBDIR      ?= $(PREFIX)/lib/rgpu
LIBEXECDIR  ?= $(PREFIX)/libexec/rgpu
MANDIR      ?= $(PREFIX)/share/man
UNITDIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR      ?= $(PREFIX)/share/zsh/site-functions
MODULEDIR   ?= $(PREFIX)/share/modulefiles

INSTALL_FILES   :=
INSTALL_TARGETS += install-files

fill_template = sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SBINDIR@|$(SBINDIR)|g' \
    -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
    -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|g'

ONLY ?=
without_part = $(filter-out %:client %:tools %:box %:broker %:slurm,$(INSTALL_FILES))
installed = $(if $(without_part),$(error no package is named for $(without_part)))$(if \
    $(ONLY),$(filter %:$(ONLY),$(INSTALL_FILES)),$(INSTALL_FILES))

.PHONY: install-files install-list
install-files: all
	@install -d $(DESTDIR)$(SYSCONFDIR)/rgpu
	@for entry in $(installed); do \
	    source=$${entry%%:*}; rest=$${entry#*:}; target=$(DESTDIR)$${rest%%:*}; \
	    rest=$${rest#*:}; mode=$${rest%%:*}; \
	    if [ "$$mode" = config ]; then \
	        [ ! -e "$$target" ] || continue; mode=0644; \
	    fi; \
	    echo "install $$target"; \
	    case "$$source" in \
	    *.in) $(fill_template) "$$source" | install -D -m "$$mode" /dev/stdin "$$target" ;; \
	    *) install -D -m "$$mode" "$$source" "$$target" ;; \
	    esac || exit 1; \
	done

install-list:
	@for entry in $(installed); do rest=$${entry#*:}; echo "$${rest%%:*}"; done

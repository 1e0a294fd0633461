# SPDX-License-Identifier: BSD-3-Clause
# What lets the libraries that are loaded into programs run with C libraries from GLIBC_FLOOR on. A library of
# $(call program_library,...) is linked with $(B)/floor/ in place of this machine's C library, so a symbol that is younger stops the
# build. Sanitizers need this machine's own.
$(call static_library,rgpufloor,client-lib/floor/older_libc.c)

$(B)/floor/libc.so.6: scripts/make/glibc-floor
	$(call say,GEN,$@)
	$(Q)CC="$(CC)" $(PYTHON) $< $(GLIBC_FLOOR) $(@D) "$$($(CC) -print-file-name=libc.so.6)"

# SPDX-License-Identifier: BSD-3-Clause
# All pages are in one package, so that their links work.
$(foreach page,$(wildcard docs/*.md docs/*/*.md docs/design/*.svg),\
    $(eval INSTALL_FILES += $(page):$(PREFIX)/share/doc/rgpu/$(page:docs/%=%):0644:tools))

# A site of pages and manuals in build/html, for reading offline. Debian's Python has Debian's libraries, which another one lacks.
.PHONY: html
html: $(B)/docs/rgpu-transports.7
	@scripts/install-deps html
	$(call say,HTML,$(B)/html/index.html)
	$(Q)/usr/bin/python3 -B docs/html/site.py . $(B) $(B)/html

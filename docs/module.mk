# SPDX-License-Identifier: BSD-3-Clause
# Which package has which pages. They keep their shelves, so that links between pages of a package work.
PAGES_client := $(wildcard docs/guide/*.md) docs/performance.md docs/reference/limits.md docs/reference/variables.md docs/reference/differences.md docs/reference/entry-points.md
PAGES_box    := docs/admin/sharing.md docs/admin/rdma.md docs/admin/security.md docs/admin/upgrade.md
PAGES_broker := docs/admin/start.md docs/admin/pool.md docs/admin/survives.md docs/admin/watching.md docs/admin/troubleshooting.md docs/reference/broker-api.md
PAGES_slurm  := docs/admin/slurm.md
$(foreach part,client box broker slurm,$(foreach page,$(PAGES_$(part)),\
    $(eval INSTALL_FILES += $(page):$(PREFIX)/share/doc/rgpu/$(page:docs/%=%):0644:$(part))))

# A site of pages and manuals in build/html, for reading offline. Debian's Python has Debian's libraries, which another one lacks.
.PHONY: html
html: $(B)/docs/rgpu-transports.7
	@scripts/install-deps html
	$(call say,HTML,$(B)/html/index.html)
	$(Q)/usr/bin/python3 -B docs/html/site.py . $(B) $(B)/html

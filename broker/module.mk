# SPDX-License-Identifier: BSD-3-Clause
# rgpu-brokerd. The core (pool, plan, queue, requests, store) is an archive of its own, which tests
# and benchmarks use without HTTP.
$(call static_library,rgpubroker,broker/pool.c broker/plan.c broker/near.c broker/claims.c broker/queue.c broker/request.c \
    broker/capacity.c broker/columns.c broker/statements.c broker/store_run.c broker/store_open.c \
    broker/store.c broker/store_past.c broker/store_log.c broker/reserve.c broker/storage.c \
    broker/core.c broker/leases.c broker/boxes.c broker/history.c broker/tickets.c broker/view.c)

# Expanded late: common/module.mk is read after this file.
BROKER_CORE_LIBS  = $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt
BROKER_LIBS       = $(BROKER_CORE_LIBS) -levent -lmunge -lsystemd

GENERATED += $(B)/gen/broker/status_page.h
$(B)/gen/broker/status_page.h: broker/status.html broker/embed.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) broker/embed.py status_page $< >$@.tmp && mv $@.tmp $@

INSTALL_FILES += $(B)/bin/rgpu-brokerd:$(SBINDIR)/rgpu-brokerd:0755 \
    systemd/rgpu-brokerd.service.in:$(UNITDIR)/rgpu-brokerd.service:0644 \
    systemd/rgpu-broker.sysusers:$(SYSUSERSDIR)/rgpu-broker.conf:0644 \
    config/rgpu-brokerd.conf:$(SYSCONFDIR)/rgpu/rgpu-brokerd.conf:config \
    docs/man/rgpu-brokerd.8:$(MANDIR)/man8/rgpu-brokerd.8:0644 \
    docs/broker-api.md:$(PREFIX)/share/doc/rgpu/broker-api.md:0644 \
    config/rgpu-alerts.yml:$(PREFIX)/share/doc/rgpu/rgpu-alerts.yml:0644 \
    config/rgpu-dashboard.json:$(PREFIX)/share/doc/rgpu/rgpu-dashboard.json:0644 \
    docs/watching.md:$(PREFIX)/share/doc/rgpu/watching.md:0644 \
    docs/pool.md:$(PREFIX)/share/doc/rgpu/pool.md:0644

BROKER_PROGRAM_SOURCES := broker/main.c broker/settings.c broker/http.c broker/call.c \
    broker/http_head.c broker/connection.c broker/listeners.c broker/auth.c broker/munge_pool.c \
    broker/routes_leases.c broker/routes_boxes.c broker/routes_watch.c broker/overview.c \
    broker/names.c broker/metrics.c
$(call program,rgpu-brokerd,$(BROKER_PROGRAM_SOURCES),\
    rgpubroker rgpucommon,$(BROKER_LIBS))

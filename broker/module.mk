# SPDX-License-Identifier: BSD-3-Clause
# rgpu-brokerd. The core (pool, plan, queue, requests, store) is an archive of its own, which tests
# and benchmarks use without HTTP.
$(call static_library,rgpubroker,$(addprefix broker/,pool.c queue.c request.c plan.c survey.c near.c claims.c explain.c capacity.c \
    outcome.c columns.c statements.c store_run.c store_open.c store_sound.c store.c store_past.c store_usage.c store_copy.c store_log.c \
    reserve.c holder.c storage.c core.c start.c tick.c leases.c grant.c queue_pass.c registration.c boxes.c drain.c away.c moving.c history.c busy_time.c tickets.c view.c pool_figures.c))

# Expanded late: common/module.mk is read after this file.
BROKER_CORE_LIBS  = $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt
BROKER_LIBS       = $(BROKER_CORE_LIBS) -levent -lmunge -lsystemd

GENERATED += $(B)/gen/broker/status_page.h
$(B)/gen/broker/status_page.h: broker/status.html broker/embed.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) broker/embed.py status_page $< >$@.tmp && mv $@.tmp $@

INSTALL_FILES += $(B)/bin/rgpu-brokerd:$(SBINDIR)/rgpu-brokerd:0755:broker \
    common/daemon.bash-completion:$(COMPLETIONDIR)/rgpu-brokerd:0644:broker \
    systemd/rgpu-brokerd.service.in:$(UNITDIR)/rgpu-brokerd.service:0644:broker \
    systemd/rgpu-broker.sysusers:$(SYSUSERSDIR)/rgpu-broker.conf:0644:broker \
    config/rgpu-brokerd.conf:$(SYSCONFDIR)/rgpu/rgpu-brokerd.conf:config:broker \
    docs/man/rgpu-brokerd.8:$(MANDIR)/man8/rgpu-brokerd.8:0644:broker \
    docs/broker-api.md:$(PREFIX)/share/doc/rgpu/broker-api.md:0644:broker \
    config/rgpu-alerts.yml:$(PREFIX)/share/doc/rgpu/rgpu-alerts.yml:0644:broker \
    config/rgpu-dashboard.json:$(PREFIX)/share/doc/rgpu/rgpu-dashboard.json:0644:broker \
    docs/watching.md:$(PREFIX)/share/doc/rgpu/watching.md:0644:broker \
    docs/pool.md:$(PREFIX)/share/doc/rgpu/pool.md:0644:broker

BROKER_PROGRAM_SOURCES := broker/main.c broker/broker_settings.c broker/http.c broker/api_call.c broker/box_line.c \
    broker/http_head.c broker/same_site.c broker/connection.c broker/http_listeners.c broker/auth.c broker/munge_pool.c \
    broker/routes_leases.c broker/routes_boxes.c broker/routes_watch.c broker/session_query.c broker/user_rates.c broker/overview.c \
    broker/names.c broker/pool_metrics.c
$(call program,rgpu-brokerd,$(BROKER_PROGRAM_SOURCES),\
    rgpubroker rgpucommon,$(BROKER_LIBS))

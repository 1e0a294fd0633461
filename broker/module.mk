# SPDX-License-Identifier: BSD-3-Clause
# rgpu-brokerd. The core (pool, plan, queue, requests, store) is an archive of its own, which tests
# and benchmarks use without HTTP.
$(call static_library,rgpubroker,$(wildcard broker/pool/*.c broker/store/*.c broker/leases/*.c broker/replication/*.c) broker/api/busy_time.c broker/api/view.c)

# Expanded late: common/module.mk is read after this file.
BROKER_CORE_LIBS  = $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt
BROKER_LIBS       = $(BROKER_CORE_LIBS) -levent -lmunge -lsystemd

GENERATED += $(B)/gen/broker/status_page.h
$(B)/gen/broker/status_page.h: broker/status.html broker/embed.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) broker/embed.py status_page $< >$@.tmp && mv $@.tmp $@

INSTALL_FILES += $(B)/bin/rgpu-brokerd:$(SBINDIR)/rgpu-brokerd:0755:broker \
    common/service/daemon.bash-completion:$(COMPLETIONDIR)/rgpu-brokerd:0644:broker \
    systemd/rgpu-brokerd.service.in:$(UNITDIR)/rgpu-brokerd.service:0644:broker \
    systemd/rgpu-broker-backup.service.in:$(UNITDIR)/rgpu-broker-backup.service:0644:broker \
    systemd/rgpu-broker-backup.timer.in:$(UNITDIR)/rgpu-broker-backup.timer:0644:broker \
    systemd/rgpu-usage-report.in:$(LIBEXECDIR)/rgpu-usage-report:0755:broker \
    systemd/rgpu-usage-report.service.in:$(UNITDIR)/rgpu-usage-report.service:0644:broker \
    systemd/rgpu-usage-report.timer:$(UNITDIR)/rgpu-usage-report.timer:0644:broker \
    systemd/rgpu-broker.sysusers:$(SYSUSERSDIR)/rgpu-broker.conf:0644:broker \
    config/rgpu-brokerd.conf:$(SYSCONFDIR)/rgpu/rgpu-brokerd.conf:config:broker \
    docs/man/rgpu-brokerd.8:$(MANDIR)/man8/rgpu-brokerd.8:0644:broker \
    config/rgpu-alerts.yml:$(PREFIX)/share/rgpu/rgpu-alerts.yml:0644:broker \
    config/rgpu-dashboard.json:$(PREFIX)/share/rgpu/rgpu-dashboard.json:0644:broker

BROKER_PROGRAM_SOURCES := broker/main.c broker/serving.c $(filter-out %/busy_time.c %/view.c,$(wildcard broker/http/*.c broker/api/*.c))
$(call program,rgpu-brokerd,$(BROKER_PROGRAM_SOURCES),rgpubroker rgpucommon,$(BROKER_LIBS))

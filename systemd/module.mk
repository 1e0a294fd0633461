# SPDX-License-Identifier: BSD-3-Clause
# Units and accounts of the services, their settings and manuals.
INSTALL_FILES += systemd/rgpud.service.in:$(UNITDIR)/rgpud.service:0644:box \
                 systemd/rgpu-workers.service.in:$(UNITDIR)/rgpu-workers.service:0644:box \
                 systemd/rgpu.sysusers:$(SYSUSERSDIR)/rgpu.conf:0644:box \
                 systemd/rgpu.tmpfiles:$(TMPFILESDIR)/rgpu.conf:0644:box \
                 config/rgpud.conf:$(SYSCONFDIR)/rgpu/rgpud.conf:config:box \
                 docs/man/rgpud.8:$(MANDIR)/man8/rgpud.8:0644:box \
                 docs/man/rgpu-spawner.8:$(MANDIR)/man8/rgpu-spawner.8:0644:box \
                 docs/man/rgpuctl.1:$(MANDIR)/man1/rgpuctl.1:0644:tools

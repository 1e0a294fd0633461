# SPDX-License-Identifier: BSD-3-Clause
# The program that starts workers, MPS supervisors and suspenders, and alone has the rights for it.
RGPU_SPAWNER_SOURCES := $(addprefix daemon/spawner/,main.c order_socket.c kinds.c processes.c child_start.c cgroup.c) \
                        daemon/rgpud/box/box_settings.c daemon/rgpud/box/devices.c daemon/rgpud/workers/mps_settings.c daemon/rgpud/box/programs.c
$(call program,rgpu-spawner,$(RGPU_SPAWNER_SOURCES),rgpucommon,-linih)
INSTALL_FILES += $(B)/bin/rgpu-spawner:$(LIBEXECDIR)/rgpu-spawner:0755:box

# SPDX-License-Identifier: BSD-3-Clause
# The box daemon. It links neither CUDA nor verbs: what touches a GPU is the worker's.
RGPUD_SOURCES := $(addprefix daemon/,main.c start_check.c box.c box_settings.c devices.c lifecycle.c \
                   listeners.c arrival.c client.c login.c admission.c waiting_clients.c lease_turns.c admin.c askers.c exporter.c notify.c broker_agent.c broker_connection.c \
                   broker_orders.c \
                   look.c meetings.c broker_report.c revocations.c broker_history.c state_file.c state_saver.c \
                   accounts.c suspension.c suspension_steps.c suspension_orders.c image_room.c moves.c move_steps.c lease_places.c kept_paths.c suspender.c \
                   gauge.c instances.c figures.c gpu_time.c share_debt.c shares.c overcommit.c overcommit_factor.c overcommit_turns.c standing.c comparison.c exclusion.c offered_transports.c \
                   warm_pool.c disturbance.c disturbance_look.c refill.c worker_process.c worker_messages.c worker_life.c \
                   worker_setup.c mps_daemon.c mps_settings.c client_sockets.c vm_windows.c vm_server.c vm_room.c exported.c limits.c box_calls.c \
                   worker_spawn.c spawner_client.c programs.c worker_output.c confinement.c refusals.c)

$(call program,rgpud,$(RGPUD_SOURCES),rgpucommon,$(COMMON_LIBS) $(TLS_LIBS) -levent_core -levent_extra -ljansson -ljwt -lsystemd -lseccomp)
$(call program,rgpu-mps-keeper,daemon/mps_keeper.c,rgpucommon,$(COMMON_LIBS))
INSTALL_FILES += $(B)/bin/rgpu-mps-keeper:$(LIBEXECDIR)/rgpu-mps-keeper:0755:box
INSTALL_FILES += common/daemon.bash-completion:$(COMPLETIONDIR)/rgpud:0644:box
INSTALL_FILES += $(B)/bin/rgpud:$(SBINDIR)/rgpud:0755:box

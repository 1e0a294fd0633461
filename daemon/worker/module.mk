# SPDX-License-Identifier: BSD-3-Clause
# rgpu-worker loads the GPU's driver at run time; nothing else of a GPU is linked or included.
WORKER_SOURCES := $(filter-out daemon/worker/main/main.c,$(wildcard daemon/worker/*.c daemon/worker/*/*.c daemon/worker/*/*/*.c)) \
    $(B)/gen/worker_serve.c $(B)/gen/worker_driver.c $(B)/gen/cuda_ops.c
WORKER_LIBS = $(COMMON_LIBS) $(TLS_LIBS) $(DRIVER_LIBS) -lseccomp -ldl

$(call static_library,rgpuworker,$(WORKER_SOURCES))
$(call program,rgpu-worker,daemon/worker/main/main.c,rgpuworker rgpudriver rgputransport rgpucommon,$(WORKER_LIBS) -lhwloc)
INSTALL_FILES += $(B)/bin/rgpu-worker:$(LIBEXECDIR)/rgpu-worker:0755:box

# SPDX-License-Identifier: BSD-3-Clause
# What every library that stands in for libcuda.so.1 shares. Such a library also compiles
# $(B)/gen/proc_table.c, links with -Bsymbolic, and names DRIVER_LIBS.
DRIVER_SOURCES := $(wildcard common/driver/*.c)
DRIVER_LIBS    := -llz4 -lzstd -l:libnettle.a

$(call static_library,rgpudriver,$(DRIVER_SOURCES))
LIBRARIES += $(B)/lib/rgpudriver.a

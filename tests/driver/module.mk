# SPDX-License-Identifier: BSD-3-Clause
# Tests of common/driver/.
driver_test = $(call test_program,driver-$(subst _,-,$(1)),tests/driver/$(1).c,$\
                  rgpudriver rgpucommon,$(DRIVER_LIBS))
$(call driver_test,error_names)
$(call driver_test,proc_address)
$(call driver_test,export_tables)
$(call driver_test,images)

# What images-of-nvcc.t looks with.
TEST_EXTRAS += $(B)/tests/tools/image-show
$(eval $(call link_rule,$(B)/tests/tools/image-show,tests/driver/image_show.c,$\
    rgpudriver rgpucommon,$(DRIVER_LIBS)))

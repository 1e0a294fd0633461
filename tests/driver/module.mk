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

# The software GPU with the calls that a CUDA version had, and no later ones: 12.2 (driver 535) and 12.4 (driver 550).
define older_driver_rule
$(B)/obj/tests/driver/older_driver_$(1).o: tests/driver/older_driver.c | $$(GENERATED)
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(ALL_CPPFLAGS) -DOLDER_DRIVER_VERSION=$(1) $$(ALL_CFLAGS) -c -o $$@ $$<
$(B)/gen/older-driver-$(1).map: $(B)/gen/libcuda.map proto/cuda.spec
	@awk 'FNR == NR { split($$$$4, part, "/"); if ($$$$1 ~ /^[0-9]+$$$$/ && part[1] + 0 > $(1)) newer[$$$$3]; next } \
	    { name = $$$$1; sub(/;$$$$/, "", name); sub(/_pt[ds][sz]$$$$/, "", name); if (!(name in newer)) print }' \
	    proto/cuda.spec $(B)/gen/libcuda.map >$$@
TEST_EXTRAS += $(B)/tests/older-driver/$(1).so
$(call link_rule,$(B)/tests/older-driver/$(1).so,tests/driver/older_driver_$(1).c $(SIM_SOURCES),$(SIM_ARCHIVES),\
    $(SIM_LIBS),-shared $(SIM_FLAGS) -Wl$(comma)--allow-multiple-definition -Wl$(comma)--version-script=$(B)/gen/older-driver-$(1).map,$(B)/gen/older-driver-$(1).map)
endef
$(foreach v,12020 12040,$(eval $(call older_driver_rule,$(v))))

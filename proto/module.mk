# SPDX-License-Identifier: BSD-3-Clause
# The code of both sides, from the two lists: what is made is named like its template.
CALL_FILES    := calls_version.h cuda_ops.h cuda_ops.c client_calls.h client_calls.c api_calls.h api_calls.c api_watched.c api_unsupported.c \
                 weak_calls.c proc_table.c libcuda.map worker_driver.h worker_driver.c \
                 worker_serve.h worker_serve.c abi_check.c \
                 error_calls.h error_calls.c request_shapes.c driver_prototypes.h cupti_numbers.h
CONTROL_FILES := control_messages.h control_messages.c

GENERATED += $(addprefix $(B)/gen/,$(filter %.h,$(CALL_FILES) $(CONTROL_FILES)))
EXTRAS    += $(B)/docs/api-coverage.md $(B)/docs/rgpu-transports.7
INSTALL_FILES += $(B)/docs/rgpu-transports.7:$(MANDIR)/man7/rgpu-transports.7:0644:box

define generated_rule
$(1): proto/$(2).spec proto/version.lock $(wildcard proto/generate/*.py) proto/generate/templates/$(notdir $(1))
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)
	$$(Q)$$(PYTHON) -B proto/generate $$< $$(@F) > $$@.tmp && mv $$@.tmp $$@
endef
$(foreach file,$(CALL_FILES),$(eval $(call generated_rule,$(B)/gen/$(file),cuda)))
$(foreach file,$(CONTROL_FILES),$(eval $(call generated_rule,$(B)/gen/$(file),control)))
$(eval $(call generated_rule,$(B)/docs/api-coverage.md,cuda))
$(eval $(call generated_rule,$(B)/docs/rgpu-transports.7,control))

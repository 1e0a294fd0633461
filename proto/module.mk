# Both sides of the call stream from the one list of calls.
CUDA_GEN := $(PYTHON) proto/gen_cuda.py proto/cuda.spec
cuda_gen  = $(B)/gen/$(1)

GENERATED += $(addprefix $(B)/gen/,cuda_ops.h client_calls.h worker_driver.h worker_serve.h)
EXTRAS    += $(B)/docs/api-coverage.md

define cuda_gen_rule
$(1): proto/gen_cuda.py proto/cuda.spec
	@mkdir -p $$(@D)
	$$(CUDA_GEN) $(2) > $$@.tmp && mv $$@.tmp $$@
endef
$(eval $(call cuda_gen_rule,$(B)/gen/cuda_ops.h,ops_h))
$(eval $(call cuda_gen_rule,$(B)/gen/cuda_ops.c,ops_c))
$(eval $(call cuda_gen_rule,$(B)/gen/client_calls.h,client_h))
$(eval $(call cuda_gen_rule,$(B)/gen/client_calls.c,client_c))
$(eval $(call cuda_gen_rule,$(B)/gen/client_unsupported.c,client_unsupported))
$(eval $(call cuda_gen_rule,$(B)/gen/weak_unsupported.c,weak_unsupported))
$(eval $(call cuda_gen_rule,$(B)/gen/proc_table.c,proc_table))
$(eval $(call cuda_gen_rule,$(B)/gen/libcuda.map,version_script))
$(eval $(call cuda_gen_rule,$(B)/gen/worker_driver.h,worker_driver_h))
$(eval $(call cuda_gen_rule,$(B)/gen/worker_driver.c,worker_driver_c))
$(eval $(call cuda_gen_rule,$(B)/gen/worker_serve.h,worker_h))
$(eval $(call cuda_gen_rule,$(B)/gen/worker_serve.c,worker_c))
$(eval $(call cuda_gen_rule,$(B)/gen/abi_check.c,abi_check))
$(eval $(call cuda_gen_rule,$(B)/docs/api-coverage.md,coverage))

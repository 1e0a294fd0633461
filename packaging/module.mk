# SPDX-License-Identifier: BSD-3-Clause
# Packages of Debian and RPM: `make deb` and `make rpm` build them into build/packages.
.PHONY: deb rpm check-packages
deb rpm:
	@scripts/install-deps build packages
	@scripts/slurm-headers --fetch >/dev/null
	@scripts/package $@ $(VERSION)

# The packages as they are released: compiled with Debian's flags, which takes some minutes.
check-packages:
	@scripts/install-deps build test packages
	@scripts/slurm-headers --fetch >/dev/null
	@+PACKAGES_AS_RELEASED=yes TEST_SECONDS=3600 $(MAKE) --no-print-directory check-built T=packages/

# SPDX-License-Identifier: BSD-3-Clause
# Packages of Debian and RPM: `make deb` and `make rpm` build them into build/packages.
#   MAINTAINER=, HOMEPAGE=            whom users of these packages turn to, for who builds them for others; by itself
#                                     an address that is reserved, and reaches nobody
MAINTAINER ?= The authors of rgpu <rgpu@rgpu.example.org>
HOMEPAGE   ?=
export MAINTAINER HOMEPAGE

.PHONY: deb rpm check-packages
deb rpm:
	@scripts/install-deps build packages
	@scripts/slurm-headers --fetch >/dev/null
	@scripts/package $@ $(VERSION)

# The packages as they are released: compiled with Debian's flags, which takes some minutes.
check-packages:
	@scripts/install-deps build check world packages
	@scripts/slurm-headers --fetch >/dev/null
	@+PACKAGES_AS_RELEASED=yes TEST_SECONDS=3600 $(MAKE) --no-print-directory check-built T=packages/

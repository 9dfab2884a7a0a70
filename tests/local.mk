if HAVE_CRITERION
UNIT_LIBS = $(CRITERION_LIBS)
include tests/unit/common.mk
include tests/unit/hostfile.mk
include tests/unit/wire.mk
include tests/unit/claim.mk
include tests/unit/agent.mk
include tests/unit/launcher.mk
include tests/unit/sidecar.mk
include tests/unit/check.mk
include tests/unit/infer.mk
include tests/unit/kernels.mk
endif
include tests/unit/nccl.mk
include tests/podbox/local.mk
include tests/hosts/local.mk
noinst_SCRIPTS =
include tests/bench/local.mk
include tests/e2e/local.mk
include tests/mpi/local.mk
include tests/fuzz/local.mk

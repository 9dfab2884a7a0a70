# Health checks, thresholds, and who is blamed.
check_PROGRAMS += tests/unit/test_thresholds tests/unit/test_blame
TESTS += tests/unit/test_thresholds tests/unit/test_blame
tests_unit_test_thresholds_SOURCES = %D%/test_thresholds.c
tests_unit_test_thresholds_LDADD = $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_blame_SOURCES = %D%/test_blame.c
tests_unit_test_blame_LDADD = $(LAUNCHER_TEST_LIBS) -lm
check_PROGRAMS += tests/unit/test_pairing
TESTS += tests/unit/test_pairing
tests_unit_test_pairing_SOURCES = %D%/test_pairing.c
tests_unit_test_pairing_LDADD = $(LAUNCHER_TEST_LIBS) -lm
check_PROGRAMS += tests/unit/test_cpucheck
TESTS += tests/unit/test_cpucheck
tests_unit_test_cpucheck_SOURCES = %D%/test_cpucheck.c %D%/check_bed.c %D%/check_bed.h
tests_unit_test_cpucheck_LDADD = $(CHECK_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_check_run
TESTS += tests/unit/test_check_run
tests_unit_test_check_run_SOURCES = %D%/test_check_run.c
tests_unit_test_check_run_LDADD = $(CHECK_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_gpu_kernels
TESTS += tests/unit/test_gpu_kernels
tests_unit_test_gpu_kernels_SOURCES = %D%/test_gpu_kernels.c
tests_unit_test_gpu_kernels_LDADD = $(CHECK_LIBS) $(UNIT_LIBS)

# The stand-in for NVML. Its users are not told of sanitizers: it is loaded by plain programs.
noinst_DATA += tests/unit/libfakenvml.so
CLEANFILES += tests/unit/libfakenvml.so
EXTRA_DIST += %D%/fake_nvml.c
tests/unit/libfakenvml.so: %D%/fake_nvml.c
	$(AM_V_GEN)$(MKDIR_P) tests/unit && $(CC) $(WARN_CFLAGS) -O1 -shared -fPIC -o $@ $<
check_PROGRAMS += tests/unit/test_netcheck tests/unit/test_check_parts
TESTS += tests/unit/test_netcheck tests/unit/test_check_parts
tests_unit_test_netcheck_SOURCES = %D%/test_netcheck.c %D%/check_bed.c %D%/check_bed.h
tests_unit_test_netcheck_LDADD = $(CHECK_LIBS) $(UNIT_LIBS)
tests_unit_test_check_parts_SOURCES = %D%/test_check_parts.c
tests_unit_test_check_parts_LDADD = $(CHECK_LIBS) $(UNIT_LIBS)

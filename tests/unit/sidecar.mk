SIDECAR_TESTS = tests/unit/test_change tests/unit/test_hook
check_PROGRAMS += $(SIDECAR_TESTS)
TESTS += $(SIDECAR_TESTS)
SIDECAR_TEST_LIBS = sidecar/libsidecar.a $(HOSTFILE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_change_SOURCES = %D%/test_change.c
tests_unit_test_change_LDADD = $(SIDECAR_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_test_hook_SOURCES = %D%/test_hook.c
tests_unit_test_hook_LDADD = $(SIDECAR_TEST_LIBS)

check_PROGRAMS += tests/unit/test_map tests/unit/test_job_fsm tests/unit/test_verdict \
	tests/unit/test_output tests/unit/test_job_plan tests/unit/test_policy
TESTS += tests/unit/test_map tests/unit/test_job_fsm tests/unit/test_verdict \
	tests/unit/test_output tests/unit/test_job_plan tests/unit/test_policy
LAUNCHER_TEST_LIBS = launcher/liblauncher.a $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS) \
	$(JANSSON_LIBS) $(UNIT_LIBS)
tests_unit_test_map_SOURCES = %D%/test_map.c
tests_unit_test_map_LDADD = $(LAUNCHER_TEST_LIBS)
tests_unit_test_job_fsm_SOURCES = %D%/test_job_fsm.c
tests_unit_test_job_fsm_LDADD = $(LAUNCHER_TEST_LIBS)
tests_unit_test_verdict_SOURCES = %D%/test_verdict.c
tests_unit_test_verdict_LDADD = $(LAUNCHER_TEST_LIBS)
tests_unit_test_policy_SOURCES = %D%/test_policy.c
tests_unit_test_policy_LDADD = $(LAUNCHER_TEST_LIBS)
tests_unit_test_output_SOURCES = %D%/test_output.c
tests_unit_test_output_LDADD = $(LAUNCHER_TEST_LIBS)
tests_unit_test_job_plan_SOURCES = %D%/test_job_plan.c
tests_unit_test_job_plan_LDADD = $(LAUNCHER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_group
TESTS += tests/unit/test_group
tests_unit_test_group_SOURCES = %D%/test_group.c
tests_unit_test_group_LDADD = $(LAUNCHER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_via_opts
TESTS += tests/unit/test_via_opts
tests_unit_test_via_opts_SOURCES = %D%/test_via_opts.c
tests_unit_test_via_opts_LDADD = $(LAUNCHER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_input
TESTS += tests/unit/test_input
tests_unit_test_input_SOURCES = %D%/test_input.c
tests_unit_test_input_LDADD = $(LAUNCHER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_writer
TESTS += tests/unit/test_writer
tests_unit_test_writer_SOURCES = %D%/test_writer.c
tests_unit_test_writer_LDADD = $(LAUNCHER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_status
TESTS += tests/unit/test_status
tests_unit_test_status_SOURCES = %D%/test_status.c
tests_unit_test_status_LDADD = $(LAUNCHER_TEST_LIBS)

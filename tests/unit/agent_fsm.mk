check_PROGRAMS += tests/unit/test_attempt_fsm tests/unit/test_oom tests/unit/test_preflight
TESTS += tests/unit/test_attempt_fsm tests/unit/test_oom tests/unit/test_preflight
tests_unit_test_oom_SOURCES = %D%/test_oom.c
tests_unit_test_oom_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_preflight_SOURCES = %D%/test_preflight.c
tests_unit_test_preflight_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_attempt_fsm_SOURCES = %D%/test_attempt_fsm.c
tests_unit_test_attempt_fsm_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)

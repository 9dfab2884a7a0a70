check_PROGRAMS += tests/unit/test_attempt_fsm
TESTS += tests/unit/test_attempt_fsm
tests_unit_test_attempt_fsm_SOURCES = %D%/test_attempt_fsm.c
tests_unit_test_attempt_fsm_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)

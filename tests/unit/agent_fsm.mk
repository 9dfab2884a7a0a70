check_PROGRAMS += tests/unit/test_attempt_fsm tests/unit/test_modex tests/unit/test_oom tests/unit/test_preflight
TESTS += tests/unit/test_attempt_fsm tests/unit/test_modex tests/unit/test_oom tests/unit/test_preflight
tests_unit_test_modex_SOURCES = %D%/test_modex.c
tests_unit_test_modex_LDADD = agent/libagent.a $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_oom_SOURCES = %D%/test_oom.c
tests_unit_test_oom_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_preflight_SOURCES = %D%/test_preflight.c
tests_unit_test_preflight_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_attempt_fsm_SOURCES = %D%/test_attempt_fsm.c
tests_unit_test_attempt_fsm_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test_handoff tests/unit/test_handoff_fsm tests/unit/test_lease_clock
TESTS += tests/unit/test_handoff tests/unit/test_handoff_fsm tests/unit/test_lease_clock
tests_unit_test_handoff_SOURCES = %D%/test_handoff.c
tests_unit_test_handoff_LDADD = agent/libagent.a $(SIDECAR_LIBS) $(WIRE_LIBS) $(HOSTFILE_LIBS) \
	$(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_handoff_fsm_SOURCES = %D%/test_handoff_fsm.c
tests_unit_test_handoff_fsm_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_lease_clock_SOURCES = %D%/test_lease_clock.c
tests_unit_test_lease_clock_LDADD = $(SIDECAR_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_port_holder
TESTS += tests/unit/test_port_holder
tests_unit_test_port_holder_SOURCES = %D%/test_port_holder.c
tests_unit_test_port_holder_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_session_fsm
TESTS += tests/unit/test_session_fsm
tests_unit_test_session_fsm_SOURCES = %D%/test_session_fsm.c
tests_unit_test_session_fsm_LDADD = agent/libagent.a $(COMMON_LIBS) $(UNIT_LIBS)

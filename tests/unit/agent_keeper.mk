KEEPER_TESTS = tests/unit/test_keeper tests/unit/test_keeper_end \
	tests/unit/test_keeper_kin tests/unit/test_keeper_lookup tests/unit/test_keeper_state \
	tests/unit/test_master_port tests/unit/test_rank_env
check_PROGRAMS += $(KEEPER_TESTS)
TESTS += $(KEEPER_TESTS)
KEEPER_BED = %D%/keeper_bed.c %D%/keeper_bed.h
KEEPER_TEST_LIBS = $(KEEPER_LIBS) $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_keeper_SOURCES = %D%/test_keeper.c $(KEEPER_BED)
tests_unit_test_keeper_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_keeper_end_SOURCES = %D%/test_keeper_end.c $(KEEPER_BED)
tests_unit_test_keeper_end_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_keeper_kin_SOURCES = %D%/test_keeper_kin.c
tests_unit_test_keeper_kin_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_keeper_lookup_SOURCES = %D%/test_keeper_lookup.c
tests_unit_test_keeper_lookup_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_keeper_state_SOURCES = %D%/test_keeper_state.c
tests_unit_test_keeper_state_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_master_port_SOURCES = %D%/test_master_port.c
tests_unit_test_master_port_LDADD = $(KEEPER_TEST_LIBS)
tests_unit_test_rank_env_SOURCES = %D%/test_rank_env.c
tests_unit_test_rank_env_LDADD = $(KEEPER_TEST_LIBS)
check_PROGRAMS += tests/unit/test_inspector
TESTS += tests/unit/test_inspector
tests_unit_test_inspector_SOURCES = %D%/test_inspector.c
tests_unit_test_inspector_LDADD = $(KEEPER_TEST_LIBS)

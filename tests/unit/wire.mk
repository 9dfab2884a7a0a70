WIRE_TESTS = tests/unit/test_chan tests/unit/test_frame tests/unit/test_keyring \
	tests/unit/test_tree
check_PROGRAMS += $(WIRE_TESTS)
TESTS += $(WIRE_TESTS)
tests_unit_test_chan_SOURCES = %D%/test_chan.c
tests_unit_test_chan_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_frame_SOURCES = %D%/test_frame.c
tests_unit_test_frame_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_keyring_SOURCES = %D%/test_keyring.c
tests_unit_test_keyring_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_tree_SOURCES = %D%/test_tree.c
tests_unit_test_tree_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

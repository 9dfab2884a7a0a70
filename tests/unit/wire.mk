check_PROGRAMS += tests/unit/test_frame tests/unit/test_chan
TESTS += tests/unit/test_frame tests/unit/test_chan
tests_unit_test_frame_SOURCES = %D%/test_frame.c
tests_unit_test_frame_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_chan_SOURCES = %D%/test_chan.c
tests_unit_test_chan_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test_coll_route
TESTS += tests/unit/test_coll_route
tests_unit_test_coll_route_SOURCES = %D%/test_coll_route.c
tests_unit_test_coll_route_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

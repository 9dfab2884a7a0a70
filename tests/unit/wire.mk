WIRE_TESTS = tests/unit/test_chan \
	tests/unit/test_coll_route \
	tests/unit/test_frame \
	tests/unit/test_keyring \
	tests/unit/test_link \
	tests/unit/test_link_hostkeys \
	tests/unit/test_link_keys \
	tests/unit/test_link_peers \
	tests/unit/test_link_protocol \
	tests/unit/test_link_resume \
	tests/unit/test_link_state \
	tests/unit/test_namestore \
	tests/unit/test_placeholders \
	tests/unit/test_remote \
	tests/unit/test_replay \
	tests/unit/test_roll_msg \
	tests/unit/test_tree
check_PROGRAMS += $(WIRE_TESTS)
TESTS += $(WIRE_TESTS)
tests_unit_test_chan_SOURCES = %D%/test_chan.c
tests_unit_test_chan_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_frame_SOURCES = %D%/test_frame.c
tests_unit_test_frame_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_keyring_SOURCES = %D%/test_keyring.c
tests_unit_test_keyring_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_state_SOURCES = %D%/test_link_state.c
tests_unit_test_link_state_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_placeholders_SOURCES = %D%/test_placeholders.c
tests_unit_test_placeholders_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_tree_SOURCES = %D%/test_tree.c
tests_unit_test_tree_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_roll_msg_SOURCES = %D%/test_roll_msg.c
tests_unit_test_roll_msg_LDADD = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
LINK_PAIR = %D%/link_pair.c %D%/link_pair.h
tests_unit_test_link_SOURCES = %D%/test_link.c $(LINK_PAIR)
tests_unit_test_link_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_keys_SOURCES = %D%/test_link_keys.c $(LINK_PAIR)
tests_unit_test_link_keys_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_peers_SOURCES = %D%/test_link_peers.c $(LINK_PAIR)
tests_unit_test_link_peers_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_protocol_SOURCES = %D%/test_link_protocol.c $(LINK_PAIR)
tests_unit_test_link_protocol_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_resume_SOURCES = %D%/test_link_resume.c $(LINK_PAIR)
tests_unit_test_link_resume_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_replay_SOURCES = %D%/test_replay.c
tests_unit_test_replay_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_coll_route_SOURCES = %D%/test_coll_route.c
tests_unit_test_coll_route_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_namestore_SOURCES = %D%/test_namestore.c
tests_unit_test_namestore_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_remote_SOURCES = %D%/test_remote.c
tests_unit_test_remote_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_link_hostkeys_SOURCES = %D%/test_link_hostkeys.c
tests_unit_test_link_hostkeys_CPPFLAGS = $(AM_CPPFLAGS) $(SSH_CFLAGS)
tests_unit_test_link_hostkeys_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_graces
TESTS += tests/unit/test_graces
tests_unit_test_graces_SOURCES = %D%/test_graces.c
tests_unit_test_graces_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_branch
TESTS += tests/unit/test_branch
tests_unit_test_branch_SOURCES = %D%/test_branch.c $(LINK_PAIR)
tests_unit_test_branch_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

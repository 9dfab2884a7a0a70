HOSTFILE_TESTS = \
	tests/unit/test_belief \
	tests/unit/test_claims \
	tests/unit/test_cmd_roll \
	tests/unit/test_detect \
	tests/unit/test_detect_hostfile \
	tests/unit/test_dialects \
	tests/unit/test_dns \
	tests/unit/test_etchosts \
	tests/unit/test_filter \
	tests/unit/test_follow \
	tests/unit/test_follow_ways \
	tests/unit/test_hostfile \
	tests/unit/test_hostfile_cases \
	tests/unit/test_hostlist \
	tests/unit/test_hosts_guard \
	tests/unit/test_hosts_plan \
	tests/unit/test_kin \
	tests/unit/test_members \
	tests/unit/test_names \
	tests/unit/test_ranges \
	tests/unit/test_rewrite \
	tests/unit/test_roll \
	tests/unit/test_roll_json \
	tests/unit/test_source \
	tests/unit/test_source_dns \
	tests/unit/test_squeeze \
	tests/unit/test_succeed
check_PROGRAMS += $(HOSTFILE_TESTS)
TESTS += $(HOSTFILE_TESTS)
HOSTFILE_TEST_LIBS = $(HOSTFILE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

tests_unit_test_belief_SOURCES = %D%/test_belief.c
tests_unit_test_belief_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_dns_SOURCES = %D%/test_dns.c %D%/fakedns.c %D%/fakedns.h
tests_unit_test_dns_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_etchosts_SOURCES = %D%/test_etchosts.c
tests_unit_test_etchosts_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_follow_SOURCES = %D%/test_follow.c
tests_unit_test_follow_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_follow_ways_SOURCES = %D%/test_follow_ways.c
tests_unit_test_follow_ways_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_hostfile_SOURCES = %D%/test_hostfile.c
tests_unit_test_hostfile_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_hostfile_cases_SOURCES = %D%/test_hostfile_cases.c
tests_unit_test_hostfile_cases_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_hostlist_SOURCES = %D%/test_hostlist.c
tests_unit_test_hostlist_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_hosts_guard_SOURCES = %D%/test_hosts_guard.c
tests_unit_test_hosts_guard_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_hosts_plan_SOURCES = %D%/test_hosts_plan.c
tests_unit_test_hosts_plan_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_claims_SOURCES = %D%/test_claims.c
tests_unit_test_claims_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_kin_SOURCES = %D%/test_kin.c
tests_unit_test_kin_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_members_SOURCES = %D%/test_members.c
tests_unit_test_members_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_names_SOURCES = %D%/test_names.c
tests_unit_test_names_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_ranges_SOURCES = %D%/test_ranges.c
tests_unit_test_ranges_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_rewrite_SOURCES = %D%/test_rewrite.c
tests_unit_test_rewrite_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_cmd_roll_SOURCES = %D%/test_cmd_roll.c %D%/fakedns.c %D%/fakedns.h
tests_unit_test_cmd_roll_LDADD = $(HOSTFILE_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_test_roll_SOURCES = %D%/test_roll.c
tests_unit_test_roll_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_source_dns_SOURCES = %D%/test_source_dns.c %D%/source_bed.c %D%/source_bed.h %D%/fakedns.c %D%/fakedns.h
tests_unit_test_source_dns_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_source_SOURCES = %D%/test_source.c %D%/source_bed.c %D%/source_bed.h %D%/fakedns.c %D%/fakedns.h
tests_unit_test_roll_json_SOURCES = %D%/test_roll_json.c
tests_unit_test_roll_json_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_source_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_detect_SOURCES = %D%/test_detect.c %D%/paper_pod.c %D%/paper_pod.h
tests_unit_test_detect_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_detect_hostfile_SOURCES = %D%/test_detect_hostfile.c %D%/paper_pod.c \
	%D%/paper_pod.h
tests_unit_test_detect_hostfile_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_dialects_SOURCES = %D%/test_dialects.c
tests_unit_test_dialects_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_filter_SOURCES = %D%/test_filter.c
tests_unit_test_filter_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_squeeze_SOURCES = %D%/test_squeeze.c
tests_unit_test_squeeze_LDADD = $(HOSTFILE_TEST_LIBS)
tests_unit_test_succeed_SOURCES = %D%/test_succeed.c
tests_unit_test_succeed_LDADD = $(HOSTFILE_TEST_LIBS)

EXTRA_DIST += tests/cases/dns tests/cases/hostfiles tests/cases/hostlists tests/cases/hosts tests/cases/http tests/cases/podnames tests/cases/resolvconf tests/cases/rolls

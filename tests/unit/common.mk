check_PROGRAMS += tests/unit/test_buf tests/unit/test_strv tests/unit/test_proc
TESTS += tests/unit/test_buf tests/unit/test_strv tests/unit/test_proc
tests_unit_test_buf_SOURCES = %D%/test_buf.c
tests_unit_test_buf_LDADD = $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_strv_SOURCES = %D%/test_strv.c
tests_unit_test_strv_LDADD = $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_proc_SOURCES = %D%/test_proc.c
tests_unit_test_proc_LDADD = $(COMMON_LIBS) $(UNIT_LIBS)

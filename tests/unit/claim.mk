CLAIM_TESTS = tests/unit/test_claim tests/unit/test_claim_model tests/unit/test_record \
	tests/unit/test_lead
check_PROGRAMS += $(CLAIM_TESTS)
TESTS += $(CLAIM_TESTS)
CLAIM_LIBS = agent/libagent.a $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_claim_SOURCES = %D%/test_claim.c
tests_unit_test_claim_LDADD = $(CLAIM_LIBS)
tests_unit_test_claim_model_SOURCES = %D%/test_claim_model.c %D%/claim_model.c %D%/claim_model.h
tests_unit_test_claim_model_LDADD = $(CLAIM_LIBS)
tests_unit_test_record_SOURCES = %D%/test_record.c
tests_unit_test_record_LDADD = $(CLAIM_LIBS)
tests_unit_test_lead_SOURCES = %D%/test_lead.c
tests_unit_test_lead_LDADD = agent/libagent.a $(PMI1_LIBS) $(KEEPER_LIBS) $(WIRE_LIBS) $(SIDECAR_LIBS) \
	$(HOSTFILE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

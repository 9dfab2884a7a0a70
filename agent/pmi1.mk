noinst_LIBRARIES += agent/libpmi1.a
agent_libpmi1_a_SOURCES = \
	%D%/pmi1.c %D%/pmi1.h \
	%D%/pmi1_kvs.c %D%/pmi1_kvs.h \
	%D%/pmi1_map.c %D%/pmi1_map.h \
	%D%/pmi1_parse.c %D%/pmi1_parse.h \
	%D%/pmi1_serve.c %D%/pmi1_serve.h \
	%D%/pmi1_spawn.c %D%/pmi1_spawn.h
PMI1_LIBS = agent/libpmi1.a

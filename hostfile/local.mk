noinst_LIBRARIES += hostfile/libhostfile.a
hostfile_libhostfile_a_SOURCES = \
	%D%/members.c %D%/members.h \
	%D%/source.h
hostfile_libhostfile_a_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
HOSTFILE_LIBS = hostfile/libhostfile.a $(CARES_LIBS)

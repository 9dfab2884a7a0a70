noinst_LIBRARIES += hostfile/libhostfile.a
hostfile_libhostfile_a_SOURCES = \
	%D%/hostlist.c %D%/hostlist.h \
	%D%/hostname.c %D%/hostname.h \
	%D%/hostword.c %D%/hostword.h \
	%D%/linekeys.c %D%/linekeys.h \
	%D%/localhost.c %D%/localhost.h \
	%D%/members.c %D%/members.h \
	%D%/openmpi.c %D%/openmpi.h \
	%D%/place.c %D%/place.h \
	%D%/ranges.c %D%/ranges.h \
	%D%/slurp.c %D%/slurp.h \
	%D%/source.h
hostfile_libhostfile_a_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
HOSTFILE_LIBS = hostfile/libhostfile.a $(CARES_LIBS)

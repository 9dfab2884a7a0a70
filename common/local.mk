noinst_LIBRARIES += common/libcommon.a
common_libcommon_a_SOURCES = \
	%D%/buf.c %D%/buf.h \
	%D%/child.c %D%/child.h \
	%D%/child_output.c %D%/child_output.h \
	%D%/crc32.c %D%/crc32.h \
	%D%/dynlib.c %D%/dynlib.h \
	%D%/err.c %D%/err.h \
	%D%/fd.c %D%/fd.h \
	%D%/httpd.c %D%/httpd.h \
	%D%/listener.c %D%/listener.h \
	%D%/httpreq.c %D%/httpreq.h \
	%D%/jsonpack.c %D%/jsonpack.h \
	%D%/jsontext.c %D%/jsontext.h \
	%D%/log.c %D%/log.h \
	%D%/loop.c %D%/loop.h \
	%D%/gpu_emu.h \
	%D%/mem.c %D%/mem.h \
	%D%/opt_number.c %D%/opt_number.h \
	%D%/proc.c %D%/proc.h \
	%D%/promtext.c %D%/promtext.h \
	%D%/putfile.c %D%/putfile.h \
	%D%/seconds.c %D%/seconds.h \
	%D%/signame.c %D%/signame.h \
	%D%/sha256.c %D%/sha256.h \
	%D%/std.c %D%/std.h \
	%D%/strv.c %D%/strv.h \
	%D%/thresholds.c %D%/thresholds.h \
	%D%/watch.c %D%/watch.h \
	%D%/watchpath.c %D%/watchpath.h
COMMON_LIBS = common/libcommon.a $(EVENT_LIBS)

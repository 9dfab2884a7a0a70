bin_PROGRAMS += sidecar/muster-sidecar
noinst_LIBRARIES += sidecar/libsidecar.a
sidecar_libsidecar_a_SOURCES = \
	%D%/change.c %D%/change.h \
	%D%/hook.c %D%/hook.h \
	%D%/keep.c %D%/keep.h \
	%D%/lease.c %D%/lease.h \
	%D%/lease_clock.c %D%/lease_clock.h \
	%D%/opts.c %D%/opts.h \
	%D%/outfile.c %D%/outfile.h \
	%D%/page.c %D%/page.h \
	%D%/render.c %D%/render.h \
	%D%/write_opts.c %D%/write_opts.h
SIDECAR_LIBS = sidecar/libsidecar.a
sidecar_muster_sidecar_SOURCES = %D%/main.c
sidecar_muster_sidecar_LDADD = sidecar/libsidecar.a $(HOSTFILE_LIBS) $(COMMON_LIBS)

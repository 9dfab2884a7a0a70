# The test bed; nothing of it is installed.
noinst_PROGRAMS += tests/podbox/podbox
tests_podbox_podbox_SOURCES = \
	%D%/bed.c %D%/bed.h \
	%D%/bed_state.c \
	%D%/boot.c %D%/boot.h \
	%D%/caps.c %D%/caps.h \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/cmd.h \
	%D%/cmd_change.c \
	%D%/cmd_dns.c \
	%D%/cmd_exec.c \
	%D%/cmd_life.c \
	%D%/cmd_run.c \
	%D%/cmd_show.c \
	%D%/cmd_up.c \
	%D%/cmd_volume.c \
	%D%/dns.c %D%/dns.h \
	%D%/dnsq.c %D%/dnsq.h \
	%D%/down.c %D%/down.h \
	%D%/etc.c %D%/etc.h \
	%D%/file.c %D%/file.h \
	%D%/follow.c %D%/follow.h \
	%D%/ident.c %D%/ident.h \
	%D%/main.c \
	%D%/net.c %D%/net.h \
	%D%/ns.c %D%/ns.h \
	%D%/pause.c %D%/pause.h \
	%D%/procs.c %D%/procs.h \
	%D%/rootfs.c %D%/rootfs.h \
	%D%/sandbox.c %D%/sandbox.h \
	%D%/shim.c %D%/shim.h \
	%D%/target.c %D%/target.h \
	%D%/volume.c %D%/volume.h \
	%D%/zone.c %D%/zone.h
tests_podbox_podbox_LDADD = $(COMMON_LIBS) $(JANSSON_LIBS) -lresolv
EXTRA_DIST += %D%/FIDELITY.md tests/dns/faultdns.py tests/e2e/helper.bash tests/e2e/podbox.bats \
	tests/roots/headers tests/roots/make

noinst_LIBRARIES += hostfile/libhostfile.a
hostfile_libhostfile_a_SOURCES = \
	%D%/addrset.c %D%/addrset.h \
	%D%/belief.c %D%/belief.h \
	%D%/claims.c %D%/claims.h \
	%D%/deepspeed.c %D%/deepspeed.h \
	%D%/detect.c %D%/detect.h %D%/detect_impl.h \
	%D%/detect_job.c \
	%D%/detect_lws.c \
	%D%/detect_mpi.c \
	%D%/detect_trainer.c \
	%D%/detect_volcano.c \
	%D%/dialect.c %D%/dialect.h %D%/dialect_impl.h \
	%D%/dns.c %D%/dns.h \
	%D%/dns_channel.c %D%/dns_channel.h \
	%D%/dns_parse.c %D%/dns_parse.h \
	%D%/dns_soa.c %D%/dns_soa.h \
	%D%/dns_stats.c %D%/dns_stats.h \
	%D%/etchosts.c %D%/etchosts.h \
	%D%/filter.c %D%/filter.h \
	%D%/follow.c %D%/follow.h \
	%D%/gather.c %D%/gather.h \
	%D%/horovod.c %D%/horovod.h \
	%D%/hostlist.c %D%/hostlist.h \
	%D%/hostname.c %D%/hostname.h \
	%D%/hosts_block.c %D%/hosts_block.h \
	%D%/hosts_diff.c %D%/hosts_diff.h \
	%D%/hosts_file.c %D%/hosts_file.h \
	%D%/hosts_guard.c %D%/hosts_guard.h \
	%D%/hosts_line.c %D%/hosts_line.h \
	%D%/hosts_members.c %D%/hosts_members.h \
	%D%/hosts_plan.c %D%/hosts_plan.h \
	%D%/hosts_want.c %D%/hosts_want.h \
	%D%/hostword.c %D%/hostword.h \
	%D%/hydra.c %D%/hydra.h \
	%D%/jsonform.c %D%/jsonform.h \
	%D%/kin.c %D%/kin.h \
	%D%/linekeys.c %D%/linekeys.h \
	%D%/localhost.c %D%/localhost.h \
	%D%/mark.c %D%/mark.h \
	%D%/members.c %D%/members.h \
	%D%/names.c %D%/names.h \
	%D%/natural.c %D%/natural.h \
	%D%/near.c %D%/near.h \
	%D%/openmpi.c %D%/openmpi.h \
	%D%/ownaddr.c %D%/ownaddr.h \
	%D%/place.c %D%/place.h \
	%D%/plainlist.c %D%/plainlist.h \
	%D%/podname.c %D%/podname.h \
	%D%/pods.c %D%/pods.h \
	%D%/ranges.c %D%/ranges.h \
	%D%/resolvconf.c %D%/resolvconf.h \
	%D%/resolver.c %D%/resolver.h \
	%D%/rewrite.c %D%/rewrite.h \
	%D%/roll.c %D%/roll.h \
	%D%/roll_json.c %D%/roll_json.h \
	%D%/slurm.c %D%/slurm.h \
	%D%/slurp.c %D%/slurp.h \
	%D%/source.c %D%/source.h \
	%D%/source_impl.h \
	%D%/source_list.c %D%/source_list_impl.h \
	%D%/source_list_claims.c \
	%D%/source_list_houses.c \
	%D%/source_opts.c %D%/source_opts.h \
	%D%/source_service.c \
	%D%/source_status.h \
	%D%/squeeze.c %D%/squeeze.h \
	%D%/succeed.c %D%/succeed.h \
	%D%/textlines.c %D%/textlines.h
hostfile_libhostfile_a_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
HOSTFILE_LIBS = hostfile/libhostfile.a $(CARES_LIBS) $(JANSSON_LIBS)

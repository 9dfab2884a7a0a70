# Targets of ./dev fuzz, which builds with clang: no part of `make all`.
EXTRA_PROGRAMS += tests/fuzz/claims tests/fuzz/configmap tests/fuzz/dialect tests/fuzz/dns \
	tests/fuzz/environ tests/fuzz/finding tests/fuzz/frames tests/fuzz/hostlist tests/fuzz/hosts tests/fuzz/httpreq \
	tests/fuzz/keys tests/fuzz/pmi1 tests/fuzz/podname tests/fuzz/remote tests/fuzz/resolvconf \
	tests/fuzz/rundir tests/fuzz/status tests/fuzz/llama2c tests/fuzz/tokenizer \
	tests/fuzz/ckptdir tests/fuzz/kernellog tests/fuzz/kvwire tests/fuzz/losslog tests/fuzz/nethello \
	tests/fuzz/openai tests/fuzz/rolefile tests/fuzz/shard tests/fuzz/takeover tests/fuzz/thresholds
FUZZ_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
FUZZ_SCRATCH = %D%/scratch.c %D%/scratch.h %D%/demand.h
FUZZ_WIRE_LIBS = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_claims_SOURCES = %D%/claims.c %D%/demand.h
tests_fuzz_claims_LDADD = agent/libagent.a $(FUZZ_WIRE_LIBS)
tests_fuzz_claims_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_configmap_SOURCES = %D%/configmap.c %D%/demand.h
tests_fuzz_configmap_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_configmap_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_environ_SOURCES = %D%/environ.c %D%/demand.h
tests_fuzz_environ_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_environ_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_finding_SOURCES = %D%/finding.c %D%/demand.h
tests_fuzz_finding_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_finding_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_frames_SOURCES = %D%/frames.c %D%/demand.h
tests_fuzz_frames_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_frames_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_keys_SOURCES = %D%/keys.c $(FUZZ_SCRATCH)
tests_fuzz_keys_CPPFLAGS = $(AM_CPPFLAGS) $(SSH_CFLAGS)
tests_fuzz_keys_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_keys_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_pmi1_SOURCES = %D%/pmi1.c %D%/demand.h
tests_fuzz_pmi1_LDADD = $(PMI1_LIBS) $(FUZZ_WIRE_LIBS)
tests_fuzz_pmi1_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_remote_SOURCES = %D%/remote.c %D%/demand.h
tests_fuzz_remote_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_remote_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_status_SOURCES = %D%/status.c %D%/demand.h
tests_fuzz_status_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_status_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_dialect_SOURCES = %D%/dialect.c
tests_fuzz_dialect_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_dialect_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hostlist_SOURCES = %D%/hostlist.c
tests_fuzz_hostlist_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_hostlist_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_dns_SOURCES = %D%/dns.c %D%/demand.h
tests_fuzz_dns_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
tests_fuzz_dns_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_dns_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hosts_SOURCES = %D%/hosts.c
tests_fuzz_hosts_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_hosts_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_httpreq_SOURCES = %D%/httpreq.c
tests_fuzz_httpreq_LDADD = $(COMMON_LIBS)
tests_fuzz_httpreq_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_resolvconf_SOURCES = %D%/resolvconf.c
tests_fuzz_resolvconf_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_resolvconf_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_podname_SOURCES = %D%/podname.c
tests_fuzz_podname_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_podname_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_rundir_SOURCES = %D%/rundir.c
tests_fuzz_rundir_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_rundir_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_llama2c_SOURCES = %D%/llama2c.c %D%/demand.h
tests_fuzz_llama2c_LDADD = $(MODEL_LIBS) $(COMMON_LIBS) -lm
tests_fuzz_llama2c_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_tokenizer_SOURCES = %D%/tokenizer.c %D%/demand.h
tests_fuzz_tokenizer_LDADD = $(MODEL_LIBS) $(COMMON_LIBS) -lm
tests_fuzz_tokenizer_LDFLAGS = $(FUZZ_LDFLAGS)
# Of the reference ranks' libraries alone: no MPI, and no CUDA to compile. The checks' library has options that
# clang does not know.
FUZZ_TRAIN_LIBS = kernels/train/libtrain.a $(MODEL_LIBS) $(COMMON_LIBS) -lm
FUZZ_INFER_LIBS = kernels/infer/libinfer.a $(MODEL_LIBS) $(COMMON_LIBS) $(JANSSON_LIBS) -lm
tests_fuzz_ckptdir_SOURCES = %D%/ckptdir.c $(FUZZ_SCRATCH)
tests_fuzz_ckptdir_LDADD = $(FUZZ_TRAIN_LIBS)
tests_fuzz_ckptdir_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_kernellog_SOURCES = %D%/kernellog.c $(FUZZ_SCRATCH) kernels/check/kernel_log.c kernels/check/xid.c
tests_fuzz_kernellog_LDADD = $(COMMON_LIBS)
tests_fuzz_kernellog_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_kvwire_SOURCES = %D%/kvwire.c %D%/demand.h
tests_fuzz_kvwire_LDADD = $(FUZZ_INFER_LIBS)
tests_fuzz_kvwire_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_losslog_SOURCES = %D%/losslog.c $(FUZZ_SCRATCH)
tests_fuzz_losslog_LDADD = $(FUZZ_TRAIN_LIBS)
tests_fuzz_losslog_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_nethello_SOURCES = %D%/nethello.c %D%/demand.h kernels/check/net_hello.c
tests_fuzz_nethello_LDADD = $(COMMON_LIBS)
tests_fuzz_nethello_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_openai_SOURCES = %D%/openai.c %D%/demand.h
tests_fuzz_openai_LDADD = $(FUZZ_INFER_LIBS)
tests_fuzz_openai_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_rolefile_SOURCES = %D%/rolefile.c $(FUZZ_SCRATCH)
tests_fuzz_rolefile_LDADD = $(FUZZ_INFER_LIBS)
tests_fuzz_rolefile_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_shard_SOURCES = %D%/shard.c $(FUZZ_SCRATCH)
tests_fuzz_shard_LDADD = $(FUZZ_TRAIN_LIBS)
tests_fuzz_shard_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_takeover_SOURCES = %D%/takeover.c %D%/demand.h
tests_fuzz_takeover_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_takeover_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_thresholds_SOURCES = %D%/thresholds.c %D%/demand.h
tests_fuzz_thresholds_LDADD = $(COMMON_LIBS)
tests_fuzz_thresholds_LDFLAGS = $(FUZZ_LDFLAGS)
EXTRA_DIST += %D%/targets %D%/run.sh %D%/wire_seeds.sh %D%/kernel_seeds.py tests/cases/claims tests/cases/configmaps \
	tests/cases/environs tests/cases/findings tests/cases/keys tests/cases/pmi1 tests/cases/remote tests/cases/status tests/cases/llama2c \
	tests/cases/tokenizers tests/cases/ckptdirs tests/cases/kernellogs tests/cases/kvwire tests/cases/losslogs \
	tests/cases/nethellos tests/cases/openai tests/cases/rolefiles tests/cases/shards tests/cases/takeovers \
	tests/cases/thresholds \
	tests/cases/wire

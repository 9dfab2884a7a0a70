# muster-infer: a model's ranks, and what the leader serves.
noinst_LIBRARIES += kernels/infer/libinfer.a
kernels_infer_libinfer_a_SOURCES = \
	%D%/engine.c %D%/engine.h \
	%D%/fetch.c %D%/fetch.h \
	%D%/forward.c %D%/forward.h \
	%D%/generate.c %D%/generate.h \
	%D%/http.c %D%/http.h \
	%D%/kvcache.c %D%/kvcache.h \
	%D%/kvpull.c %D%/kvpull.h \
	%D%/kvserve.c %D%/kvserve.h \
	%D%/kvwire.c %D%/kvwire.h \
	%D%/lead.c %D%/lead.h \
	%D%/openai.c %D%/openai.h \
	%D%/opts.c %D%/opts.h \
	%D%/place.c %D%/place.h \
	%D%/prefill.c %D%/prefill.h \
	%D%/prefill_ranks.c %D%/prefill_ranks.h \
	%D%/pulls.c %D%/pulls.h \
	%D%/random_model.c %D%/random_model.h \
	%D%/rolefile.c %D%/rolefile.h \
	%D%/sampler.c %D%/sampler.h \
	%D%/sched.c %D%/sched.h \
	%D%/serve.c %D%/serve.h \
	%D%/service.c %D%/service.h \
	%D%/shard.c %D%/shard.h \
	%D%/tcp.c %D%/tcp.h \
	%D%/textout.c %D%/textout.h \
	%D%/weights.c %D%/weights.h
INFER_LIBS = kernels/infer/libinfer.a $(MODEL_LIBS) $(COMM_LIBS) $(COMPUTE_LIBS) \
	$(COMMON_LIBS) $(JANSSON_LIBS)
bin_PROGRAMS += kernels/infer/muster-infer
kernels_infer_muster_infer_SOURCES = %D%/main.c
kernels_infer_muster_infer_LDADD = $(INFER_LIBS)

KERNEL_TESTS = tests/unit/test_matmul tests/unit/test_attention tests/unit/test_pointwise \
	tests/unit/test_gpu_compute tests/unit/test_model_config tests/unit/test_net tests/unit/test_rope \
	tests/unit/test_train_files
check_PROGRAMS += $(KERNEL_TESTS)
TESTS += $(KERNEL_TESTS)
EXTRA_DIST += %D%/numbers.h
GPU_EMULATED = %D%/emulated.c %D%/emulated.h
KERNEL_TEST_LIBS = $(COMPUTE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
# What a test compares with is not contracted either.
KERNEL_TEST_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_unit_test_matmul_SOURCES = %D%/test_matmul.c
tests_unit_test_matmul_CFLAGS = $(KERNEL_TEST_CFLAGS)
tests_unit_test_matmul_LDADD = $(KERNEL_TEST_LIBS)
tests_unit_test_attention_SOURCES = %D%/test_attention.c
tests_unit_test_attention_CFLAGS = $(KERNEL_TEST_CFLAGS)
tests_unit_test_attention_LDADD = $(KERNEL_TEST_LIBS)
tests_unit_test_pointwise_SOURCES = %D%/test_pointwise.c
tests_unit_test_pointwise_CFLAGS = $(KERNEL_TEST_CFLAGS)
tests_unit_test_pointwise_LDADD = $(MODEL_LIBS) $(KERNEL_TEST_LIBS)
tests_unit_test_rope_SOURCES = %D%/test_rope.c
tests_unit_test_rope_CFLAGS = $(KERNEL_TEST_CFLAGS)
tests_unit_test_rope_LDADD = $(MODEL_LIBS) $(COMMON_LIBS) -lm $(UNIT_LIBS)
tests_unit_test_gpu_compute_SOURCES = %D%/test_gpu_compute.c $(GPU_EMULATED)
tests_unit_test_gpu_compute_CFLAGS = $(KERNEL_TEST_CFLAGS)
tests_unit_test_gpu_compute_LDADD = $(KERNEL_TEST_LIBS)
tests_unit_test_model_config_SOURCES = %D%/test_model_config.c
tests_unit_test_model_config_LDADD = $(MODEL_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
tests_unit_test_net_SOURCES = %D%/test_net.c $(GPU_EMULATED)
tests_unit_test_net_LDADD = $(TRAIN_LIBS) $(UNIT_LIBS)
tests_unit_test_train_files_SOURCES = %D%/test_train_files.c
tests_unit_test_train_files_LDADD = $(TRAIN_LIBS) $(UNIT_LIBS)

bin_PROGRAMS += sidecar/muster-sidecar
sidecar_muster_sidecar_SOURCES = %D%/main.c

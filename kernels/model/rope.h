// RoPE's table: by which angle each position turns each pair of a head.
//
// Sines, cosines and powers are ours: libm's are not the same everywhere, and a bit here is a bit
// in all that follows. Sums and products of doubles alone, in a fixed order.
#ifndef MUSTER_KERNELS_MODEL_ROPE_H
#define MUSTER_KERNELS_MODEL_ROPE_H

#include <stddef.h>

// table[seq_len][head_dim / 2][2]: cosine and sine of pos * rope_turn(), rounded to float; within a
// unit in float's last place. seq_len is at most 2^24.
void rope_table(float *table, size_t seq_len, size_t head_dim);
// The same numbers as files have them (llama2c.h): all cosines, then all sines.
void rope_columns(float *out, size_t seq_len, size_t head_dim);

// Radians a position: 10000^(-2 pair / head_dim), within 2 units in the last place.
double rope_turn(size_t pair, size_t head_dim);
// Of 0 <= x <= 2^24, within 2^-52.
void rope_sincos(double x, double *sine, double *cosine);

#endif

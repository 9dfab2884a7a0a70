// A multiple of pi/2 is taken off, and what is left goes into Taylor's sums.
#include "kernels/model/rope.h"

#include <math.h>
#include <stdint.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

// terms[0] x^(n - 1) + ... + terms[n - 1]
static double horner(const double *terms, size_t n, double x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = sum * x + terms[i];
    return sum;
}

// The nearest whole number, of |x| < 2^51: what is added leaves no room for a fraction.
static double nearest(double x)
{
    const double magic = 6755399441055744.0; // 1.5 * 2^52
    return x + magic - magic;
}

double rope_turn(size_t pair, size_t head_dim)
{
    // log2(10000) = HIGH + LOW; HIGH has 24 bits, so its product with a float is whole.
    const double high = 0x1.a934fp+3, low = 0x1.2f346e2bf924bp-22;
    const double ln2 = 0x1.62e42fefa39efp-1;
    static const double terms[] = {1.0 / 87178291200, 1.0 / 6227020800,
                                   1.0 / 479001600,   1.0 / 39916800,
                                   1.0 / 3628800,     1.0 / 362880,
                                   1.0 / 40320,       1.0 / 5040,
                                   1.0 / 720,         1.0 / 120,
                                   1.0 / 24,          1.0 / 6,
                                   1.0 / 2,           1.0}; // 1 / k!, k from 14 on
    double x = (double)(2 * pair) / (double)head_dim;
    double front = (double)(float)x, back = x - front;
    double whole = front * high, rest = front * low + back * (high + low);
    double n = nearest(whole + rest);
    double f = (n - whole - rest) * ln2; // 10000^-x = 2^-n exp(f)
    return ldexp(1 + f * horner(terms, COUNT(terms), f), -(int)n);
}

void rope_sincos(double x, double *sine, double *cosine)
{
    // pi/2 = PI_A + PI_B + PI_C; the first two have 29 bits, so that n of them are whole.
    const double pi_a = 0x1.921fb54p+0, pi_b = 0x1.10b461p-30;
    const double pi_c = 0x1.a62633145c06ep-58, quarters = 0x1.45f306dc9c883p-1; // 2/pi
    static const double odd[] = {
        1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
        1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
    static const double even[] = {
        1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
        1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -1.0 / 2};
    double n = nearest(x * quarters), r = x - n * pi_a - n * pi_b - n * pi_c;
    double s = r + r * (r * r) * horner(odd, COUNT(odd), r * r);
    double c = 1 + r * r * horner(even, COUNT(even), r * r);
    unsigned quarter = (unsigned)n & 3;
    double turned[] = {s, c, -s, -c};
    *sine = turned[quarter];
    *cosine = turned[(quarter + 1) & 3];
}

// Cosines and sines of a position are pair_step apart, of a pair row.
static void fill(float *cosines, float *sines, size_t pair_step, size_t row,
                 size_t seq_len, size_t head_dim)
{
    for (size_t pair = 0; pair < head_dim / 2; pair++) {
        double turn = rope_turn(pair, head_dim), sine, cosine;
        for (size_t pos = 0; pos < seq_len; pos++) {
            rope_sincos((double)pos * turn, &sine, &cosine);
            cosines[pos * row + pair * pair_step] = (float)cosine;
            sines[pos * row + pair * pair_step] = (float)sine;
        }
    }
}

void rope_table(float *table, size_t seq_len, size_t head_dim)
{
    fill(table, table + 1, 2, head_dim, seq_len, head_dim);
}

void rope_columns(float *out, size_t seq_len, size_t head_dim)
{
    size_t half = head_dim / 2;
    fill(out, out + seq_len * half, 1, half, seq_len, head_dim);
}

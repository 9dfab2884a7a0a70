// The loss over steps: axes, one curve, one dashed line a restart.
#include "kernels/train/plot.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    WIDTH = 800,
    HEIGHT = 400,
    LEFT = 60,
    RIGHT = 20,
    TOP = 40,
    BOTTOM = 50,
    TICKS = 6,     // about so many on an axis
    POINTS = 2000, // of the curve; more cannot be seen
};

// A range of values, and the pixels that it goes to.
struct axis {
    double from, to;
    double pixel_from, pixel_to;
};

static double place(const struct axis *a, double x)
{
    return a->pixel_from +
           (x - a->from) / (a->to - a->from) * (a->pixel_to - a->pixel_from);
}

// 1, 2 or 5 times a power of ten, so that about TICKS of them fill the axis.
static double tick_step(const struct axis *a)
{
    double rough = (a->to - a->from) / TICKS, step = 1;
    while (step > rough)
        step /= 10;
    while (step * 10 <= rough)
        step *= 10;
    return rough >= step * 5 ? step * 5 : rough >= step * 2 ? step * 2 : step;
}

// The first multiple of step in the axis.
static int64_t first_tick(const struct axis *a, double step)
{
    int64_t k = (int64_t)(a->from / step);
    return (double)k * step < a->from ? k + 1 : k;
}

static void line(struct buf *out, const char *style, double x1, double y1, double x2,
                 double y2)
{
    buf_printf(out,
               "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
               style, x1, y1, x2, y2);
}

static void text(struct buf *out, const char *style, double x, double y, const char *t)
{
    buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
    for (; *t != '\0'; t++) {
        switch (*t) {
        case '<': buf_append_str(out, "&lt;"); break;
        case '>': buf_append_str(out, "&gt;"); break;
        case '&': buf_append_str(out, "&amp;"); break;
        default: buf_append(out, t, 1); break;
        }
    }
    buf_append_str(out, "</text>\n");
}

static void number(struct buf *out, const char *style, double x, double y, double value)
{
    char label[32];
    snprintf(label, sizeof label, "%.6g", value);
    text(out, style, x, y, label);
}

static void draw_axes(struct buf *out, const struct axis *x, const struct axis *y)
{
    double step = tick_step(x);
    for (int64_t k = first_tick(x, step); (double)k * step <= x->to; k++) {
        double at = place(x, (double)k * step);
        line(out, "grid", at, TOP, at, HEIGHT - BOTTOM);
        number(out, "middle", at, HEIGHT - BOTTOM + 18, (double)k * step);
    }
    step = tick_step(y);
    for (int64_t k = first_tick(y, step); (double)k * step <= y->to; k++) {
        double at = place(y, (double)k * step);
        line(out, "grid", LEFT, at, WIDTH - RIGHT, at);
        number(out, "end", LEFT - 6, at + 4, (double)k * step);
    }
    text(out, "middle", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "step");
    text(out, "end", LEFT - 6, TOP - 12, "loss");
}

static void draw_restarts(struct buf *out, const struct axis *x,
                          const struct loss_line *lines, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        char label[64];
        if (lines[i].run == lines[i - 1].run)
            continue;
        double at = place(x, (double)lines[i].step - 0.5);
        line(out, "restart", at, TOP, at, HEIGHT - BOTTOM);
        snprintf(label, sizeof label, "run %" PRIu32 ", %" PRIu32 " rank%s",
                 lines[i].run, lines[i].ranks, lines[i].ranks == 1 ? "" : "s");
        text(out, "start", at + 4, TOP + 12, label);
    }
}

static void draw_curve(struct buf *out, const struct axis *x, const struct axis *y,
                       const struct loss_line *lines, size_t n)
{
    size_t every = (n + POINTS - 1) / POINTS;
    buf_append_str(out, "<polyline points=\"");
    for (size_t i = 0; i < n; i += every)
        buf_printf(out, "%.1f,%.1f ", place(x, (double)lines[i].step),
                   place(y, lines[i].loss));
    buf_append_str(out, "\"/>\n");
}

static struct axis loss_axis(const struct loss_line *lines, size_t n)
{
    struct axis y = {lines[0].loss, lines[0].loss, HEIGHT - BOTTOM, TOP};
    for (size_t i = 1; i < n; i++) {
        y.from = lines[i].loss < y.from ? lines[i].loss : y.from;
        y.to = lines[i].loss > y.to ? lines[i].loss : y.to;
    }
    double margin = y.to > y.from ? (y.to - y.from) * 0.05 : 0.5;
    y.from -= margin;
    y.to += margin;
    return y;
}

void plot_svg(struct buf *out, const char *title, const struct loss_line *lines,
              size_t n)
{
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
               "font-family=\"sans-serif\" font-size=\"12\">\n"
               "<style>.grid{stroke:#ddd}.restart{stroke:#c33;stroke-dasharray:4 3}"
               "polyline{fill:none;stroke:#26a;stroke-width:1.5}"
               ".middle{text-anchor:middle}.end{text-anchor:end}</style>\n"
               "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
               WIDTH, HEIGHT, WIDTH, HEIGHT);
    text(out, "middle", WIDTH / 2.0, 20, title);
    if (n > 0) {
        struct axis x = {(double)lines[0].step - 1, (double)lines[n - 1].step, LEFT,
                         WIDTH - RIGHT};
        struct axis y = loss_axis(lines, n);
        draw_axes(out, &x, &y);
        draw_curve(out, &x, &y, lines, n);
        draw_restarts(out, &x, lines, n);
    }
    buf_append_str(out, "</svg>\n");
}

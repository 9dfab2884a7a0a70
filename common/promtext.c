// Lines of metrics.
#include "common/promtext.h"

void promtext_head(struct buf *out, const char *name, enum promtext_kind kind,
                   const char *help)
{
    static const char *const kinds[] = {"gauge", "counter", "histogram"};
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kinds[kind]);
}

static void put_value(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\n')
            buf_append_str(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_append(out, text, 1);
}

void promtext_sample(struct buf *out, const char *name, const char *label,
                     const char *value, double number)
{
    buf_append_str(out, name);
    if (label != NULL) {
        buf_printf(out, "{%s=\"", label);
        put_value(out, value);
        buf_append_str(out, "\"}");
    }
    buf_printf(out, " %.15g\n", number);
}

void promtext_one(struct buf *out, const char *name, enum promtext_kind kind,
                  const char *help, double number)
{
    promtext_head(out, name, kind, help);
    promtext_sample(out, name, NULL, NULL, number);
}

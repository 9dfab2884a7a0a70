// Strings of JSON. Pure.
#ifndef MUSTER_COMMON_JSONTEXT_H
#define MUSTER_COMMON_JSONTEXT_H

#include <stdbool.h>

#include "common/buf.h"

// Appends the text in quotes. What is no UTF-8 becomes U+FFFD, so that the result is JSON
// whatever the text holds.
void jsontext_string(struct buf *out, const char *text);
bool jsontext_is_utf8(const char *text);
// Appends the text as it is, but for that. Objects of jansson: jsonpack.h.
void jsontext_mend(struct buf *out, const char *text);

#endif

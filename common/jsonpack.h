// Objects of JSON from C values. Pure.
//
// jansson's json_pack() gives nothing at all for a text that is not UTF-8, and an event or a
// roll would be lost for one byte of a file's name: nobody else calls it (house.bats).
#ifndef MUSTER_COMMON_JSONPACK_H
#define MUSTER_COMMON_JSONPACK_H

#include <jansson.h>

// "{s:i, s:s}", "key", 7, "text", "b": as json_pack() has it, with keys s and values
//   s  text, mended where it is no UTF-8 (jsontext.h)   s?  NULL is null
//   i  int   I  json_int_t   f  double   b  int   o  json_t *, taken over   {...}
// Never NULL; a format or an object that makes no sense aborts.
json_t *jsonpack(const char *format, ...);
// A value by itself: s?
json_t *jsonpack_text(const char *text);

#endif

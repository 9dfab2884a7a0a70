// A ConfigMap as the API server gives it: one key's text out, and a patch for it.
//
// The patch names the resourceVersion that the text is of: when somebody changed the
// object in between, the server refuses it (409) and nothing is lost. Pure.
#ifndef MUSTER_LAUNCHER_CONFIGMAP_H
#define MUSTER_LAUNCHER_CONFIGMAP_H

#include "common/buf.h"
#include "common/err.h"

struct configmap {
    char *what; // "NAMESPACE/NAME:KEY", as a file's name for texts; owned
    char *key;  // owned
    char *version;
    char *text;
    size_t len;
};

#define CONFIGMAP_AUTO __attribute__((cleanup(configmap_free))) struct configmap

// Reads the object. `file` is for texts. Errors: CM_SYNTAX (no JSON), CM_NO_OBJECT (a
// Status with the server's words, or another kind), CM_NO_KEY (with those there are),
// CM_IMMUTABLE.
int configmap_read(const char *json, size_t len, const char *file, const char *key,
                   struct configmap *out, struct err *err);
void configmap_free(struct configmap *c);
// Appends a JSON merge patch (RFC 7386) that gives the key another text.
void configmap_patch(const struct configmap *c, const char *text, size_t len,
                     struct buf *out);

#endif

// The source as JSON.
#include "launcher/source_json.h"

#include "common/jsonpack.h"
#include "common/mem.h"

json_t *source_json(const struct source_opts *from)
{
    const struct detected *found = &from->found;
    CLEANUP_FREE char *text = source_describe(&from->spec);
    json_t *index = found->system != NULL && found->index >= 0
                        ? json_integer(found->index)
                        : json_null();
    json_t *members =
        from->members > 0 ? json_integer((json_int_t)from->members) : json_null();
    return jsonpack("{s:s, s:o, s:s?, s:s?, s:o}", "text", text, "members", members,
                    "system", found->system, "why", found->why, "index", index);
}

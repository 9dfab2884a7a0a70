// A PMIx tool: connects to a server, asks for its namespaces, says how that went.
//
//   pmix_tool URI           as a stranger: no identity of its own
//   pmix_tool URI NAME      as a stranger that calls itself NAME, rank 0
//   pmix_tool               with what the environment says, as below a rank
//
// Ends with 0 when it was served, 1 when it was refused.
#include <pmix_tool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pmix_status_t connect_to(const char *uri, const char *name)
{
    pmix_proc_t self;
    pmix_info_t info[3];
    uint32_t rank = 0;
    size_t n = 0;
    if (uri != NULL)
        PMIX_INFO_LOAD(&info[n++], PMIX_SERVER_URI, uri, PMIX_STRING);
    if (name != NULL) {
        PMIX_INFO_LOAD(&info[n++], PMIX_TOOL_NSPACE, name, PMIX_STRING);
        PMIX_INFO_LOAD(&info[n++], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    }
    return PMIx_tool_init(&self, info, n);
}

int main(int argc, char **argv)
{
    pmix_query_t query;
    pmix_info_t *result = NULL;
    size_t n = 0;
    pmix_status_t rc = connect_to(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
    if (rc != PMIX_SUCCESS) {
        printf("refused: %s\n", PMIx_Error_string(rc));
        return 1;
    }
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    rc = PMIx_Query_info(&query, 1, &result, &n);
    if (rc == PMIX_SUCCESS && n > 0 && result[0].value.type == PMIX_STRING)
        printf("served: %s\n", result[0].value.data.string);
    else
        printf("connected, but no answer: %s\n", PMIx_Error_string(rc));
    fflush(stdout);
    PMIx_tool_finalize();
    return rc == PMIX_SUCCESS ? 0 : 1;
}

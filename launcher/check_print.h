// What an inspection found, for people: a table and a line. Pure.
#ifndef MUSTER_LAUNCHER_CHECK_PRINT_H
#define MUSTER_LAUNCHER_CHECK_PRINT_H

#include <jansson.h>

#include "common/buf.h"
#include "launcher/finding.h"

// Of all members and pairs of a job_inspection() (job.h): FAIL where one failed, else COULD_NOT where one
// could not be inspected, or there is no member.
enum finding_verdict check_print_sum(const json_t *report);
// A row for each check of each member and for each pair, then how many members passed and which did not,
// and the nodes and links that the pairs put at fault.
void check_print_table(const json_t *report, struct buf *out);

#endif

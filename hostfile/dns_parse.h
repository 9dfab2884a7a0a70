// What a DNS reply says, through c-ares' own parsers.
#ifndef MUSTER_HOSTFILE_DNS_PARSE_H
#define MUSTER_HOSTFILE_DNS_PARSE_H

#include "hostfile/dns.h"

// `status` is what c-ares gave for the question. The answer is freed with
// dns_answer_free(); its server is left alone.
void dns_parse(int status, enum dns_type type, unsigned char *reply, int len,
               struct dns_answer *out);
void dns_answer_free(struct dns_answer *answer);
#endif

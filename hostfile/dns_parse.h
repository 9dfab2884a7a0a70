// What a DNS reply says, through c-ares' own parsers.
#ifndef MUSTER_HOSTFILE_DNS_PARSE_H
#define MUSTER_HOSTFILE_DNS_PARSE_H

#include "hostfile/dns.h"

// `status` is what c-ares gave for the question. The answer is freed with
// dns_answer_free(); its server is left alone.
// A reply that is cut (TC) is malformed here: it says less than the server knows.
void dns_parse(int status, enum dns_type type, unsigned char *reply, int len,
               struct dns_answer *out);
// Has the reply its TC bit set? NULL: no.
bool dns_parse_is_cut(const unsigned char *reply, int len);
void dns_answer_free(struct dns_answer *answer);
#endif

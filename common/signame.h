// Signals by name.
#ifndef MUSTER_COMMON_SIGNAME_H
#define MUSTER_COMMON_SIGNAME_H

// "USR1", "SIGUSR1", "sigusr1" or "10"; 0: no such signal.
int signame_parse(const char *text);

#endif

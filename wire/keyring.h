// The group's key ring: what opens the door.
//
// A directory, as a kubernetes.io/ssh-auth Secret is mounted:
//   ssh-privatekey            current private key (Ed25519, OpenSSH format); required
//   ssh-publickey             its public half (written by keygen, informative)
//   ssh-privatekey-previous   optional: still accepted and served while Secrets roll
//   out authorized_keys           optional: further public keys to accept, one a line
// mpi-operator's Secret is taken as it is: id_rsa for ssh-privatekey (ECDSA P-521).
// Private keys that group or others can read are refused, except in a read-only mount,
// where that is a warning (kubelet's fsGroup makes them 0640).
#ifndef MUSTER_WIRE_KEYRING_H
#define MUSTER_WIRE_KEYRING_H

#include "common/err.h"

struct keyring;
struct log;

// Reads the ring. Errors name the file, its mode and the remedy. Warnings go to log.
struct keyring *keyring_load(const char *dir, struct log *log, struct err *err);
void keyring_destroy(struct keyring *ring);
// The directory to use: `given` (an option), else $MUSTER_KEY_DIR, else /etc/muster/ssh.
// Caller frees.
char *keyring_default_dir(const char *given);
// Make a new ring in dir (created 0700; key 0600). Refuses to overwrite a key.
int keyring_generate(const char *dir, struct err *err);
// "SHA256:..." of the current key, for texts; lives as long as the ring.
const char *keyring_fingerprint(const struct keyring *ring);

#endif

// The group's key ring: what opens the door.
//
// A directory, as a kubernetes.io/ssh-auth Secret is mounted:
//   ssh-privatekey            current private key (Ed25519, OpenSSH format); required
//   ssh-publickey             its public half (written by keygen, informative, not read)
//   ssh-privatekey-previous   optional: still accepted and served while Secrets roll out
//   authorized_keys           optional: further public keys to accept, one a line
// mpi-operator's Secret is taken as it is: id_rsa for ssh-privatekey (ECDSA P-521).
// Private keys that group or others can read are refused, except in a read-only mount,
// where that is a warning (kubelet's fsGroup makes them 0640).
//
// Rotation without a gap, each step once all pods have the one before (Secrets arrive
// up to 90 s apart): {ssh-privatekey: new, ssh-privatekey-previous: old}, then
// {ssh-privatekey: new, authorized_keys: old's public key}, then {ssh-privatekey: new}.
// For that a listener shows the oldest private key of each type that it holds, and a
// dialler offers every private key.
#ifndef MUSTER_WIRE_KEYRING_H
#define MUSTER_WIRE_KEYRING_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct keyring;
struct log;
struct ssh_key_struct; // libssh's ssh_key is a pointer to it

// Reads the ring. All files come from one version of a Secret volume, even while
// kubelet swaps it. Errors (kind "KEYRING") name the file, its mode and the remedy.
// Warnings go to log.
struct keyring *keyring_load(const char *dir, struct log *log, struct err *err);
void keyring_destroy(struct keyring *ring); // NULL-safe
// The directory to use: `given` (an option), else $MUSTER_KEY_DIR, else
// /etc/muster/ssh. Caller frees.
char *keyring_default_dir(const char *given);
// Make a new ring in dir (created 0700; key 0600). Refuses to overwrite a key.
int keyring_generate(const char *dir, struct err *err);
// "SHA256:..." of the current key, for texts; lives as long as the ring.
const char *keyring_fingerprint(const struct keyring *ring);

// ---- for wire/link_ssh* ------------------------------------------------------

// The i-th private key, current first; NULL past the last. Borrowed.
struct ssh_key_struct *keyring_private(const struct keyring *ring, size_t i);
// Is this public (or private) key one of the ring's?
bool keyring_accepts(const struct keyring *ring, struct ssh_key_struct *key);
// Host key algorithms for a dialler, those of the ring's keys first; lives as long as
// the ring.
const char *keyring_hostkey_types(const struct keyring *ring);
// "SHA256:..." of any key. Caller frees.
char *keyring_fingerprint_of(struct ssh_key_struct *key);

#endif

// muster keygen: make the group's key ring, and say how it becomes a Secret.
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "launcher/cmd.h"
#include "wire/keyring.h"

enum { EXIT_CONFIG = 125 };

static const char doc[] =
    "Make a new key ring in DIR: an Ed25519 key that all pods of the group share. Who "
    "holds it may start programs in the pods; nobody else can connect."
    "\vAn existing key is never overwritten. Nothing is sent anywhere: the kubectl "
    "command "
    "that is printed makes a Secret from the ring.";

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    const char **dir = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*dir != NULL)
            argp_error(state, "one directory only, what is '%s'?", arg);
        *dir = arg;
        return 0;
    case ARGP_KEY_END:
        if (*dir == NULL)
            argp_error(state, "which directory? For example: muster keygen ./keys");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// Quoted for a POSIX shell, where that is needed.
static void put_quoted(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-+=:,@%";
    if (text[strspn(text, plain)] == '\0') {
        fputs(text, stdout);
        return;
    }
    putchar('\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    putchar('\'');
}

static void put_secret_command(const char *dir)
{
    static const char *const files[] = {"ssh-privatekey", "ssh-publickey"};
    fputs("To make a Secret of it:\n"
          "  kubectl create secret generic muster-key --type=kubernetes.io/ssh-auth",
          stdout);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        printf(" \\\n    --from-file=%s=", files[i]);
        put_quoted(dir);
        printf("/%s", files[i]);
    }
    putchar('\n');
}

int cmd_keygen(int argc, char **argv)
{
    const char *dir = NULL;
    const struct argp argp = {.parser = on_option, .args_doc = "DIR", .doc = doc};
    ERR_AUTO err = ERR_INIT;
    char name[] = "muster keygen";
    argv[0] = name;
    argp_err_exit_status = EXIT_CONFIG;
    argp_parse(&argp, argc, argv, 0, NULL, &dir);
    struct keyring *ring = NULL;
    if (keyring_generate(dir, &err) == 0)
        ring = keyring_load(dir, NULL, &err);
    if (ring == NULL) {
        fprintf(stderr, "muster keygen: %s\n", err_text(&err));
        return EXIT_CONFIG;
    }
    printf("Wrote %s/ssh-privatekey (keep it secret) and %s/ssh-publickey.\n"
           "Fingerprint: %s\n",
           dir, dir, keyring_fingerprint(ring));
    put_secret_command(dir);
    keyring_destroy(ring);
    return fflush(stdout) == 0 ? 0 : EXIT_CONFIG;
}

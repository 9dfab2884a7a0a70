// SHA-256 against the published examples.
#include <criterion/criterion.h>
#include <string.h>

#include "common/sha256.h"

static void check(const void *data, size_t n, const char *digest)
{
    char hex[SHA256_HEX];
    sha256_hex(data, n, hex);
    cr_assert_str_eq(hex, digest);
}

Test(sha256, the_examples_of_fips_180)
{
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check(two, strlen(two),
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

// Where the length just fits behind the data, and where it needs a block of its own.
Test(sha256, lengths_round_a_block)
{
    char a[64];
    memset(a, 'a', sizeof a);
    check(a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    check(a, 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    check(a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of SHA-256 against the examples of FIPS 180-4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/sha256.h"

static const struct {
	const char *message, *digest;
} examples[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void one_piece(void **state)
{
	uint8_t digest[COMMON_SHA256_SIZE];
	char text[COMMON_SHA256_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		common_sha256_of(examples[i].message, strlen(examples[i].message), digest);
		common_sha256_format(digest, text);
		assert_string_equal(text, examples[i].digest);
	}
}

/* One object hashes several messages in turn, byte by byte. */
static void in_pieces(void **state)
{
	struct common_sha256 *hash = common_sha256_new();
	uint8_t digest[COMMON_SHA256_SIZE];
	char text[COMMON_SHA256_TEXT_SIZE];

	(void)state;
	assert_non_null(hash);
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		for (const char *p = examples[i].message; *p; p++)
			common_sha256_add(hash, p, 1);
		common_sha256_finish(hash, digest);
		common_sha256_format(digest, text);
		assert_string_equal(text, examples[i].digest);
	}
	common_sha256_free(hash);
	common_sha256_free(NULL);
}

static void million_letters(void **state)
{
	struct common_sha256 *hash = common_sha256_new();
	uint8_t digest[COMMON_SHA256_SIZE];
	char text[COMMON_SHA256_TEXT_SIZE], letters[1000];

	(void)state;
	assert_non_null(hash);
	memset(letters, 'a', sizeof(letters));
	for (int i = 0; i < 1000; i++)
		common_sha256_add(hash, letters, sizeof(letters));
	common_sha256_finish(hash, digest);
	common_sha256_format(digest, text);
	assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	common_sha256_free(hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_piece),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(million_letters),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}

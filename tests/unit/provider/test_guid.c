/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests GUIDs from names against pairs in Microsoft's providers and documents. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ptl/provider.h>

static void names_have_their_published_guids(void **state)
{
	static const struct {
		const char *name;
		struct ptl_guid guid;
	} pairs[] = {
		/* The example of TraceLoggingRegister's documentation. */
		{"MyCompany.MyComponent", PTL_GUID(0xce5fa4ea, 0xab00, 0x5402, 0x8b76, 0x9f76ac858fb5)},
		{"System.Runtime", PTL_GUID(0x49592c0f, 0x5a05, 0x516d, 0xaa4b, 0xa64e02026c89)},
		{"Microsoft-Diagnostics-DiagnosticSource",
		 PTL_GUID(0xadb401e1, 0x5296, 0x51f8, 0xc125, 0x5fda75826144)},
		{"Microsoft-Extensions-Logging", PTL_GUID(0x3ac73b97, 0xaf73, 0x50e9, 0x0822, 0x5da4367920d0)},
		{"PerfLabGenericEventSource", PTL_GUID(0x9bb228bd, 0x1033, 0x5cf0, 0x1a56, 0xc2dbbe0ebc86)},
		/* Case makes no difference. */
		{"system.RUNTIME", PTL_GUID(0x49592c0f, 0x5a05, 0x516d, 0xaa4b, 0xa64e02026c89)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct ptl_guid guid;

		assert_int_equal(ptl_guid_from_name(pairs[i].name, &guid), 0);
		assert_memory_equal(&guid, &pairs[i].guid, sizeof(guid));
	}
}

static void only_utf8_is_a_name(void **state)
{
	struct ptl_guid one, other;

	(void)state;
	assert_int_equal(ptl_guid_from_name("caf\xe9", &one), PTL_MISUSE);
	assert_int_equal(ptl_guid_from_name("\xf0\x9f\x98\x80", &one), 0);
	assert_int_equal(ptl_guid_from_name("", &other), 0);
	assert_memory_not_equal(&one, &other, sizeof(one));
	assert_int_equal(one.bytes[7] >> 4, 5);
}

/* Names longer than a block of SHA-1, and names that leave no room for the length in the last block. */
static void long_names_too(void **state)
{
	char name[200];

	(void)state;
	for (size_t size = 0; size < sizeof(name); size++) {
		struct ptl_guid one, other;

		memset(name, 'a', size);
		name[size] = 0;
		assert_int_equal(ptl_guid_from_name(name, &one), 0);
		memset(name, 'A', size);
		assert_int_equal(ptl_guid_from_name(name, &other), 0);
		assert_memory_equal(&one, &other, sizeof(one));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_their_published_guids),
		cmocka_unit_test(only_utf8_is_a_name),
		cmocka_unit_test(long_names_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the chain of causes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "common/error.h"

static void chain_is_outermost_first(void **state)
{
	(void)state;
	assert_int_equal(common_fail(PTL_CORRUPT, "offset %d: bad magic", 3), PTL_CORRUPT);
	assert_int_equal(common_fail_in(PTL_CORRUPT, "buffer %d", 12), PTL_CORRUPT);
	assert_int_equal(common_fail_in(PTL_CORRUPT, "cannot open %s", "a.ptl"), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "cannot open a.ptl: buffer 12: offset 3: bad magic");
	assert_int_equal(common_fail(PTL_MISUSE, "anew"), PTL_MISUSE);
	assert_string_equal(ptl_error_text(), "anew");
	ptl_error_clear();
	assert_string_equal(ptl_error_text(), "");
	assert_int_equal(common_fail_in(PTL_SYSTEM, "alone"), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "alone");
}

/* A new failure may include the text of an earlier failure. */
static void arguments_may_be_the_chain(void **state)
{
	(void)state;
	common_fail(PTL_CORRUPT, "inner");
	common_fail(PTL_SYSTEM, "was: %s", ptl_error_text());
	assert_string_equal(ptl_error_text(), "was: inner");
	common_fail_in(PTL_SYSTEM, "again %s", ptl_error_text());
	assert_string_equal(ptl_error_text(), "again was: inner: was: inner");
}

static void errno_is_named_and_kept(void **state)
{
	(void)state;
	errno = ENOENT;
	assert_int_equal(common_fail_errno("cannot open %s", "x"), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot open x: No such file or directory");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(common_fail_memory("the index", 4096), PTL_NO_MEMORY);
	assert_string_equal(ptl_error_text(), "no memory for the index (4096 bytes)");
}

/* The chain has a fixed size: overlong text is cut, and the outermost cause stays. */
static void long_causes_are_cut(void **state)
{
	char path[5000];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(common_fail(PTL_CORRUPT, "%s", path), PTL_CORRUPT);
	assert_int_equal(strlen(ptl_error_text()), 511);
	for (int i = 0; i < 20; i++)
		assert_int_equal(common_fail_in(PTL_CORRUPT, "%d %s", i, path), PTL_CORRUPT);
	assert_memory_equal(ptl_error_text(), "19 ppp", 6);
	assert_true(strlen(ptl_error_text()) < 2048);
	assert_non_null(strstr(ptl_error_text(), ": 18 pp"));
}

static void *other_thread(void *argument)
{
	(void)argument;
	assert_string_equal(ptl_error_text(), "");
	common_fail(PTL_CORRUPT, "theirs");
	return NULL;
}

static void each_thread_has_its_own(void **state)
{
	pthread_t thread;

	(void)state;
	common_fail(PTL_CORRUPT, "mine");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(ptl_error_text(), "mine");
}

static void every_status_has_a_name(void **state)
{
	(void)state;
	for (int status = PTL_NOT_FOUND; status <= PTL_OK; status++) {
		assert_string_not_equal(ptl_status_name(status), "unknown status");
		for (int other = PTL_NOT_FOUND; other < status; other++)
			assert_string_not_equal(ptl_status_name(status), ptl_status_name(other));
	}
	assert_string_equal(ptl_status_name(PTL_NOT_FOUND - 1), "unknown status");
	assert_string_equal(ptl_status_name(1), "unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_is_outermost_first), cmocka_unit_test(arguments_may_be_the_chain),
		cmocka_unit_test(errno_is_named_and_kept),  cmocka_unit_test(long_causes_are_cut),
		cmocka_unit_test(each_thread_has_its_own),  cmocka_unit_test(every_status_has_a_name),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests sockets of sessions: a session ends, and another session of the same name begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session/session_folder.h"

static char path[] = "/tmp/ptl-test-sessions-XXXXXX";
static int folder;

static int open_folder(void **state)
{
	(void)state;
	if (!mkdtemp(path))
		return -1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder < 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlinkat(folder, ".lock", 0);
	close(folder);
	return rmdir(path);
}

static int begin(const char *name)
{
	int listener;

	assert_int_equal(common_session_listen(folder, name, &listener), 0);
	return listener;
}

static int reach(const char *name)
{
	int connection;
	const int status = common_session_connect(folder, name, NULL, &connection);

	if (status == 0)
		close(connection);
	return status;
}

static int count_one(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
	return 0;
}

static int count(void)
{
	int sessions = 0;

	assert_int_equal(common_session_list(folder, count_one, &sessions), 0);
	return sessions;
}

static void test_end(void **state)
{
	const int listener = begin("one");
	int second;

	(void)state;
	assert_int_equal(reach("one"), 0);
	assert_int_equal(common_session_listen(folder, "one", &second), PTL_SYSTEM);
	common_session_end(folder, "one", listener);
	assert_int_equal(reach("one"), PTL_NOT_FOUND);
	assert_int_equal(count(), 0);
	/* Ending again, or ending an unknown session, has no effect. */
	common_session_end(folder, "one", -1);
	common_session_end(folder, "never", -1);
	assert_int_equal(count(), 0);
}

/* The first session has closed its listener; the second session begins before the first removes its socket. */
static void test_successor(void **state)
{
	int first = begin("name"), second;

	(void)state;
	close(first);
	second = begin("name");
	common_session_end(folder, "name", -1);
	assert_int_equal(reach("name"), 0);
	common_session_end(folder, "name", second);
	assert_int_equal(count(), 0);
}

/* Only the socket with the name is removed. */
static void test_neighbour(void **state)
{
	const int one = begin("one"), two = begin("two");

	(void)state;
	common_session_end(folder, "one", one);
	assert_int_equal(reach("two"), 0);
	assert_int_equal(count(), 1);
	common_session_end(folder, "two", two);
	assert_int_equal(count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_successor),
		cmocka_unit_test(test_neighbour),
	};

	return cmocka_run_group_tests(tests, open_folder, remove_folder);
}

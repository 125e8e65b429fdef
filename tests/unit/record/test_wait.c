/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the events that wake a session: descriptors and signals, with and without a doorbell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/capture/machine.h"
#include "record/launch/signals.h"
#include "record/session/wait.h"

#define SECOND 1000000000ull
/* nanoseconds of a sleep that an event ends early */
#define LONG (60 * SECOND)

struct fixture {
	struct record_wait wait;
	uint32_t doorbell[2];
};

static struct fixture fixture;

static int open_with(bool doorbell)
{
	const struct record_doorbell bell = {&fixture.doorbell[0], &fixture.doorbell[1]};

	fixture = (struct fixture){0};
	if (record_wait_open(&fixture.wait) < 0)
		return -1;
	if (doorbell)
		record_wait_doorbell(&fixture.wait, &bell);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	return open_with(false);
}

static int set_up_doorbell(void **state)
{
	(void)state;
	return open_with(true);
}

static int tear_down(void **state)
{
	(void)state;
	record_wait_close(&fixture.wait);
	record_wait_close(&fixture.wait);
	return 0;
}

/* Returns whether a sleep of this length ends early if `event` comes between the look and the sleep. */
static bool ends(void (*event)(int value), int value, uint64_t time)
{
	const uint64_t start = record_now();

	record_wait_look(&fixture.wait);
	if (event)
		event(value);
	record_wait_sleep(&fixture.wait, time);
	return record_now() - start < time;
}

static void write_to(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

static void raise_signal(int number)
{
	assert_int_equal(kill(getpid(), number), 0);
}

/* A descriptor wakes once per new data, even if the data is not read. Data from before the start counts. */
static void wakes_for_a_descriptor(void **state)
{
	const int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(record_wait_descriptor(&fixture.wait, fd), 0);
	assert_int_equal(record_wait_start(&fixture.wait), 0);
	assert_true(ends(write_to, fd, LONG));
	assert_false(ends(NULL, 0, SECOND / 50));
	assert_true(ends(write_to, fd, LONG));
	close(fd);
}

static void wakes_for_a_signal(void **state)
{
	(void)state;
	record_signals_start();
	assert_int_equal(record_wait_start(&fixture.wait), 0);
	assert_true(ends(raise_signal, SIGINT, LONG));
	assert_int_equal(record_signals_take().interrupts, 1);
	assert_true(ends(raise_signal, SIGCHLD, LONG));
	assert_int_equal(record_signals_take().interrupts, 0);
	assert_true(ends(raise_signal, SIGTERM, LONG));
	assert_int_equal(record_signals_take().terminate, SIGTERM);
	assert_false(ends(NULL, 0, SECOND / 50));
	record_signals_stop();
}

static void ring(int value)
{
	__atomic_add_fetch(&fixture.doorbell[0], (uint32_t)value, __ATOMIC_SEQ_CST);
}

/* A ring of the doorbell before the look does not wake: the look finds the reason. */
static void misses_no_ring(void **state)
{
	(void)state;
	assert_int_equal(record_wait_start(&fixture.wait), 0);
	assert_true(ends(ring, 1, LONG));
	assert_false(ends(NULL, 0, SECOND / 50));
	assert_int_equal(fixture.doorbell[1], 0);
}

static void reports_a_descriptor_that_cannot_be_waited_for(void **state)
{
	(void)state;
	assert_int_equal(record_wait_descriptor(&fixture.wait, -1), PTL_SYSTEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_DOORBELL(name)                                                                                            \
	{                                                                                                              \
#name " with a doorbell", name, set_up_doorbell, tear_down, NULL                                       \
	}
	const struct CMUnitTest tests[] = {
		TEST(wakes_for_a_descriptor),          TEST(wakes_for_a_signal),
		TEST_DOORBELL(wakes_for_a_descriptor), TEST_DOORBELL(wakes_for_a_signal),
		TEST_DOORBELL(misses_no_ring),         TEST(reports_a_descriptor_that_cannot_be_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

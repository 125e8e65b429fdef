/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a thread with a full ring continues in another ring, as far as the session has memory. */
#include "tests/unit/session_reader.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <ptl/provider.h>

#define RING 4096u
#define RINGS 8u
#define BURST 300u  /* events for more than one ring, and for fewer than RINGS */
#define FLOOD 2000u /* events for more than all rings */

PTL_PROVIDER(test, "Test-Burst");
PTL_EVENT(test, number, 1, "Number", PTL_LEVEL_INFORMATIONAL, 0x1, NULL, PTL_U64(value));

static char folder[64];
static struct reader reader;

struct seen {
	unsigned count;
	uint64_t values[FLOOD];
	uint64_t times[FLOOD];
};

static struct seen seen;

static void see(void *context, const struct reader_file *file, uint32_t ring, const struct provider_shm_record *record,
		const uint8_t *payload)
{
	(void)context, (void)file, (void)ring;
	assert_true(seen.count < FLOOD);
	memcpy(&seen.values[seen.count], payload, 8);
	seen.times[seen.count++] = record->time;
}

static int start(void **state)
{
	static uint64_t ids = 0x2000;

	(void)state;
	memset(&reader, 0, sizeof(reader));
	memset(&seen, 0, sizeof(seen));
	reader.visit = see;
	reader.burst_rings = RINGS;
	reader_start(&reader, folder, 0, ++ids, RING, PROVIDER_SHM_SESSION_EVERYONE, NULL, 255, UINT64_MAX);
	return ptl_provider_register(&test);
}

static int stop(void **state)
{
	(void)state;
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
	return 0;
}

static void write_numbers(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		number(i);
}

static struct provider_shm_rings *rings(void)
{
	reader_open_files(&reader);
	assert_int_equal(reader.count, 1);
	return reader.files[0].first;
}

/* Checks that every number occurs once, in the order of time. */
static void expect_all(unsigned count)
{
	static uint64_t time_of[FLOOD];

	assert_int_equal(seen.count, count);
	memset(time_of, 0, sizeof(time_of));
	for (unsigned i = 0; i < count; i++) {
		assert_true(seen.values[i] < count);
		assert_true(time_of[seen.values[i]] == 0);
		time_of[seen.values[i]] = seen.times[i];
	}
	for (unsigned i = 1; i < count; i++)
		assert_true(time_of[i] >= time_of[i - 1]);
	seen.count = 0;
}

/* Skips without room: bursts leave half of the shared memory to other users. */
static void need_room(void)
{
	struct statfs info;

	if (statfs(folder, &info) || info.f_bavail < info.f_blocks / 2 + 64)
		skip();
}

static void a_burst_goes_on_in_other_rings(void **state)
{
	(void)state;
	need_room();
	write_numbers(BURST);
	assert_int_equal(reader_drain(&reader), BURST);
	assert_int_equal(reader_lost(&reader), 0);
	assert_in_range(rings()->ring_count, 2, RINGS);
	expect_all(BURST);
}

static void what_is_beyond_the_limit_is_counted(void **state)
{
	uint64_t kept;

	(void)state;
	need_room();
	write_numbers(FLOOD);
	assert_int_equal(rings()->ring_count, RINGS);
	kept = reader_drain(&reader);
	assert_true(kept > BURST);
	assert_int_equal(kept + reader_lost(&reader), FLOOD);
	/* Memory of read events is available for the next burst. */
	seen.count = 0;
	write_numbers(BURST);
	assert_int_equal(reader_drain(&reader), BURST);
	assert_int_equal(kept + reader_lost(&reader), FLOOD);
	assert_int_equal(rings()->ring_count, RINGS);
	expect_all(BURST);
}

static void *write_flood(void *context)
{
	(void)context;
	write_numbers(FLOOD);
	return NULL;
}

static void threads_share_the_rings_of_a_burst(void **state)
{
	pthread_t threads[4];
	uint64_t kept = 0;

	(void)state;
	reader.visit = NULL;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_flood, NULL), 0);
	for (unsigned i = 0; i < 100; i++)
		kept += reader_drain(&reader);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	kept += reader_drain(&reader);
	assert_int_equal(reader.broken, 0);
	assert_int_equal(kept + reader_lost(&reader), 4 * FLOOD);
	/* The first ring of each thread does not count as a burst ring. */
	assert_in_range(rings()->ring_count, 1, RINGS + 4);
}

static void nothing_is_taken_for_a_dead_recorder(void **state)
{
	(void)state;
	number(0);
	assert_int_equal(rings()->ring_count, 1);
	assert_int_equal(flock(reader.lock, LOCK_UN), 0);
	write_numbers(FLOOD);
	assert_int_equal(rings()->ring_count, 1);
	assert_int_equal(reader_drain(&reader) + reader_lost(&reader), FLOOD + 1);
}

/* Without memory the event is lost, without a signal. */
static void a_file_that_may_not_grow_loses_events(void **state)
{
	struct rlimit before, limit;
	uint64_t kept;

	(void)state;
	number(0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = PROVIDER_SHM_RING_OFFSET(RING, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	write_numbers(BURST);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rings()->ring_count, 1);
	kept = reader_drain(&reader);
	assert_true(kept < BURST);
	assert_int_equal(kept + reader_lost(&reader), BURST + 1);
}

/* The recorder's side of giving memory back. */
static void set_states(uint32_t state)
{
	for (uint32_t i = 0; i < rings()->ring_count; i++) {
		struct provider_shm_ring *ring = reader.files[0].rings[i];

		if (ring->state == PROVIDER_SHM_RING_ACTIVE)
			continue;
		ring->state = state;
		assert_int_equal(fallocate(reader.files[0].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					   (off_t)PROVIDER_SHM_RING_OFFSET(RING, i) + (off_t)PROVIDER_SHM_PAGE, RING),
				 0);
	}
}

static void released_rings_are_taken_again(void **state)
{
	uint64_t lost, kept;

	(void)state;
	need_room();
	write_numbers(FLOOD);
	reader_drain(&reader);
	lost = reader_lost(&reader);
	/* No thread takes a ring in the state RELEASING. */
	set_states(PROVIDER_SHM_RING_RELEASING);
	seen.count = 0;
	write_numbers(BURST);
	kept = reader_drain(&reader);
	assert_true(kept < BURST);
	assert_int_equal(kept + reader_lost(&reader), BURST + lost);
	lost = reader_lost(&reader);
	set_states(PROVIDER_SHM_RING_RELEASED);
	seen.count = 0;
	write_numbers(BURST);
	assert_int_equal(reader_drain(&reader), BURST);
	assert_int_equal(reader_lost(&reader), lost);
	assert_int_equal(rings()->ring_count, RINGS);
	expect_all(BURST);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_burst_goes_on_in_other_rings, start, stop),
		cmocka_unit_test_setup_teardown(what_is_beyond_the_limit_is_counted, start, stop),
		cmocka_unit_test_setup_teardown(threads_share_the_rings_of_a_burst, start, stop),
		cmocka_unit_test_setup_teardown(nothing_is_taken_for_a_dead_recorder, start, stop),
		cmocka_unit_test_setup_teardown(a_file_that_may_not_grow_loses_events, start, stop),
		cmocka_unit_test_setup_teardown(released_rings_are_taken_again, start, stop),
	};
	int failed;

	reader_folder(folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	reader_remove_folder(folder);
	return failed;
}

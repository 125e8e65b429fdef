/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the kernel's records in any order of the rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bytes.h"
#include "record/perf/data_ring.h"
#include "record/perf/event.h"
#include "record/perf/sideband.h"

#define LATE 1000000000u

static void put(struct record_sideband *sideband, struct ptl_bytes *body, uint32_t type, uint16_t misc, uint64_t time)
{
	struct ptl_bytes record = {0};

	common_write_le(&record, type, 4);
	common_write_le(&record, misc, 2);
	common_write_le(&record, (uint16_t)(8 + body->size + 16), 2);
	common_write_bytes(&record, body->data, body->size);
	common_write_le(&record, 0, 8);
	common_write_le(&record, time, 8);
	assert_int_equal(record_sideband_put(sideband, record.data, record.size), 0);
	common_bytes_free(&record);
	common_bytes_free(body);
}

static void put_task(struct record_sideband *sideband, uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid,
		     uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, parent, 4);
	common_write_le(&body, tid, 4);
	common_write_le(&body, parent, 4);
	common_write_le(&body, time, 8);
	put(sideband, &body, type, 0, time);
}

static void put_exec(struct record_sideband *sideband, uint32_t pid, const char *name, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, pid, 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(sideband, &body, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, time);
}

static void put_map(struct record_sideband *sideband, uint32_t pid, const char *name, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, pid, 4);
	common_write_le(&body, 0x400000, 8);
	common_write_le(&body, 0x1000, 8);
	common_write_le(&body, 0x2000, 8);
	common_write_le(&body, 8, 4);
	common_write_le(&body, 1, 4);
	common_write_le(&body, 77, 8);
	common_write_le(&body, 0, 8);
	common_write_le(&body, 5, 4);
	common_write_le(&body, 0, 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(sideband, &body, PERF_RECORD_MMAP2, 0, time);
}

/* The next record as text: "fork 11/12<10/10 @200". */
static const char *next(struct record_sideband *sideband, uint64_t until)
{
	static const char *const kinds[] = {"none", "fork", "exit", "name", "exec", "map", "lost"};
	const struct record_sideband_record *record = record_sideband_next(sideband, until);
	static char text[256];
	int length;

	if (!record)
		return "";
	length = snprintf(text, sizeof(text), "%s %u/%u", kinds[record->kind], record->pid, record->tid);
	if (record->parent_pid)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "<%u", record->parent_pid);
	if (record->name[0])
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %s", record->name);
	snprintf(text + length, sizeof(text) - (size_t)length, " @%llu", (unsigned long long)record->time);
	return text;
}

/* Records are ordered by time, over all rings. */
static void records_come_in_order(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_exec(sideband, 10, "sh", 100);
	put_map(sideband, 10, "/bin/sh", 110);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, 500);
	put_map(sideband, 11, "/bin/true", 300);
	put_exec(sideband, 11, "true", 290);
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, 200);
	assert_int_equal(record_sideband_due(sideband), 100);
	assert_string_equal(next(sideband, LATE), "exec 10/10 sh @100");
	assert_string_equal(next(sideband, LATE), "map 10/10 /bin/sh @110");
	/* Records with equal times keep the order of arrival. */
	put_task(sideband, PERF_RECORD_FORK, 11, 11, 12, 500);
	assert_string_equal(next(sideband, LATE), "fork 11/11<10 @200");
	assert_string_equal(next(sideband, LATE), "exec 11/11 true @290");
	assert_string_equal(next(sideband, LATE), "map 11/11 /bin/true @300");
	assert_string_equal(next(sideband, LATE), "exit 11/11<10 @500");
	assert_string_equal(next(sideband, LATE), "fork 11/12<11 @500");
	assert_string_equal(next(sideband, LATE), "");
	assert_int_equal(record_sideband_due(sideband), UINT64_MAX);
	record_sideband_close(sideband);
}

static void what_is_new_waits_for_other_cpus(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_exec(sideband, 10, "late", 101);
	assert_string_equal(next(sideband, 100), "");
	put_exec(sideband, 10, "early", 100);
	assert_string_equal(next(sideband, 100), "exec 10/10 early @100");
	assert_string_equal(next(sideband, 100), "");
	assert_int_equal(record_sideband_due(sideband), 101);
	assert_string_equal(next(sideband, UINT64_MAX), "exec 10/10 late @101");
	record_sideband_close(sideband);
}

/* The kernel gives number 0 to processes outside of the pid namespace; in a trace, 0 is the kernel's process. */
static void processes_outside_of_the_namespace_are_left_out(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;

	(void)state;
	put_exec(sideband, 0, "outside", 100);
	put_map(sideband, 0, "/bin/outside", 101);
	put_task(sideband, PERF_RECORD_FORK, 0, 0, 0, 102);
	put_task(sideband, PERF_RECORD_EXIT, 0, 0, 0, 103);
	put_task(sideband, PERF_RECORD_EXIT, UINT32_MAX, 0, UINT32_MAX, 104);
	put_task(sideband, PERF_RECORD_FORK, 12, 0, 12, 105);
	for (unsigned i = 0; i < 5; i++) {
		record = record_sideband_next(sideband, LATE);
		assert_non_null(record);
		assert_int_equal(record->kind, RECORD_SIDEBAND_NONE);
	}
	assert_string_equal(next(sideband, LATE), "fork 12/12 @105");
	record_sideband_close(sideband);
}

static void a_mapping_has_all_its_fields(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;

	(void)state;
	put_map(sideband, 11, "/bin/true", 300);
	record = record_sideband_next(sideband, LATE);
	assert_non_null(record);
	assert_int_equal(record->base, 0x400000);
	assert_int_equal(record->size, 0x1000);
	assert_int_equal(record->file_offset, 0x2000);
	assert_int_equal(record->device, makedev(8, 1));
	assert_int_equal(record->inode, 77);
	assert_int_equal(record->protection, 5);
	record_sideband_close(sideband);
}

static void a_name_is_no_program(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct ptl_bytes body = {0};

	(void)state;
	common_write_le(&body, 10, 4);
	common_write_le(&body, 12, 4);
	common_write_bytes(&body, "worker\0\0", 8);
	put(sideband, &body, PERF_RECORD_COMM, 0, 7);
	assert_string_equal(next(sideband, LATE), "name 10/12 worker @7");
	record_sideband_close(sideband);
}

/* The consumer's note stays with its record. */
static void notes_wait_with_their_records(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;

	(void)state;
	put_exec(sideband, 10, "b", 200);
	put_exec(sideband, 11, "a", 100);
	common_write_bytes(&record_sideband_waiting(sideband, 0)->note, "noted", 5);
	assert_null(record_sideband_waiting(sideband, 2));
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->note.size, 0);
	for (uint32_t i = 0; i < 1000; i++)
		put_exec(sideband, 12 + i, "c", 300 + i);
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->pid, 10);
	assert_memory_equal(record->note.data, "noted", 5);
	record_sideband_close(sideband);
}

static void losses_are_counted(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;
	struct ptl_bytes body = {0};

	(void)state;
	common_write_le(&body, 5, 8);
	common_write_le(&body, 7, 8);
	put(sideband, &body, PERF_RECORD_LOST, 0, 100);
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->kind, RECORD_SIDEBAND_LOST);
	assert_int_equal(record->lost, 7);
	record_sideband_close(sideband);
}

static void what_makes_no_sense_is_of_no_kind(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_FORK,  PERF_RECORD_EXIT, PERF_RECORD_COMM,
					 PERF_RECORD_MMAP2, PERF_RECORD_LOST, 99};
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;
	struct ptl_bytes body = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct perf_event_header header = {.type = types[i], .misc = PERF_RECORD_MISC_COMM_EXEC};

		assert_int_equal(record_sideband_put(sideband, &header, sizeof(header)), 0);
		/* Too short, or a name without its end. */
		common_write_le(&body, UINT64_MAX, 8);
		put(sideband, &body, types[i], PERF_RECORD_MISC_COMM_EXEC, 100);
		if (types[i] != PERF_RECORD_COMM && types[i] != PERF_RECORD_MMAP2)
			continue;
		for (int word = 0; word < 12; word++)
			common_write_le(&body, UINT64_MAX, 8);
		put(sideband, &body, types[i], PERF_RECORD_MISC_COMM_EXEC, 100);
	}
	while ((record = record_sideband_next(sideband, UINT64_MAX)))
		assert_int_equal(record->kind, RECORD_SIDEBAND_NONE);
	record_sideband_close(sideband);
}

static void a_sample_has_its_thread(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;
	struct ptl_bytes sample = {0};

	(void)state;
	/* only ids and time */
	common_write_le(&sample, PERF_RECORD_SAMPLE, 4);
	common_write_le(&sample, 0, 2);
	common_write_le(&sample, 24, 2);
	common_write_le(&sample, 11, 4);
	common_write_le(&sample, 12, 4);
	common_write_le(&sample, 77, 8);
	assert_int_equal(record_sideband_put(sideband, sample.data, sample.size), 0);
	common_bytes_free(&sample);
	record = record_sideband_next(sideband, UINT64_MAX);
	assert_non_null(record);
	assert_int_equal(record->kind, RECORD_SIDEBAND_SAMPLE);
	assert_int_equal(record->time, 77);
	assert_int_equal(record->pid, 11);
	assert_int_equal(record->tid, 12);
	record_sideband_close(sideband);
}

/* ---- with the kernel's own events ------------------------------------------------------------ */

static unsigned open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Starts a child that waits for a byte and then forks a child, which waits for the next byte. */
static pid_t start_family(int pipe_ends[2])
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipe_ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	close(pipe_ends[1]);
	(void)!read(pipe_ends[0], &byte, 1);
	if (fork() == 0)
		(void)!read(pipe_ends[0], &byte, 1);
	_exit(0);
}

static unsigned forks_of(struct record_sideband *sideband, pid_t parent)
{
	const struct record_sideband_record *record;
	unsigned forks = 0;

	assert_int_equal(record_sideband_collect(sideband), 0);
	while ((record = record_sideband_next(sideband, UINT64_MAX)))
		forks += record->kind == RECORD_SIDEBAND_FORK && record->parent_pid == (uint32_t)parent;
	return forks;
}

static void wait_until_dropped(struct record_sideband *sideband, unsigned descriptors)
{
	for (int i = 0; i < 2000 && open_descriptors() != descriptors; i++) {
		usleep(5000);
		record_sideband_drop_ended(sideband);
	}
	assert_int_equal(open_descriptors(), descriptors);
}

static void a_thread_that_is_added_later_is_reported_and_dropped(void **state)
{
	const struct record_sideband_targets none = {.count = 0};
	struct record_sideband *sideband;
	unsigned before, added;
	int pipe_ends[2];
	pid_t pid;

	(void)state;
	if (record_sideband_open(&none, &sideband) < 0)
		skip();
	pid = start_family(pipe_ends);
	before = open_descriptors();
	assert_int_equal(record_sideband_add(sideband, &pid, 1), 0);
	added = open_descriptors();
	assert_true(added > before);
	assert_int_equal(write(pipe_ends[1], "1", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(forks_of(sideband, pid), 1);
	/* The child's child has inherited the events. */
	record_sideband_drop_ended(sideband);
	assert_int_equal(open_descriptors(), added);
	assert_int_equal(write(pipe_ends[1], "2", 1), 1);
	wait_until_dropped(sideband, before);
	/* An ended process is left out. */
	assert_int_equal(record_sideband_add(sideband, &pid, 1), 0);
	assert_int_equal(open_descriptors(), before);
	record_sideband_close(sideband);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

/* PERF_RECORD_LOST and the events' counts tell the same loss. */
static void losses_are_reported_once(void **state)
{
	struct record_perf_losses losses = {0};

	(void)state;
	assert_int_equal(record_perf_losses_take(&losses, 0), 0);
	losses.recorded = 5;
	assert_int_equal(record_perf_losses_take(&losses, 0), 5);
	assert_int_equal(record_perf_losses_take(&losses, 5), 0);
	/* losses without a record so far */
	assert_int_equal(record_perf_losses_take(&losses, 8), 3);
	losses.recorded = 8;
	assert_int_equal(record_perf_losses_take(&losses, 0), 0);
	/* One of the events is closed. */
	losses.counted = 6;
	assert_int_equal(record_perf_losses_take(&losses, 3), 1);
	losses.recorded = 20;
	assert_int_equal(record_perf_losses_take(&losses, 0), 11);
}

/* A ring stays full until its end: without later records, the event's count tells the loss. */
static void what_is_lost_last_is_counted(void **state)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.comm = 1,
		.comm_exec = 1,
	};
	struct record_data_ring ring;
	const struct perf_event_header *record;
	uint64_t kept = 0;
	const size_t made = 5000;
	int fd, found;

	(void)state;
	fd = record_perf_event_open(&attr, 0, -1);
	if (fd < 0 || !(attr.read_format & PERF_FORMAT_LOST))
		skip();
	assert_int_equal(record_data_ring_map(&ring, fd, (size_t)sysconf(_SC_PAGESIZE)), 0);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (size_t i = 0; i < made; i++)
		prctl(PR_SET_NAME, i % 2 ? "one" : "two");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((found = record_data_ring_next(&ring, record_data_ring_head(&ring), &record)) > 0) {
		kept += record->type == PERF_RECORD_COMM;
		record_data_ring_taken(&ring, record);
	}
	assert_int_equal(found, 0);
	assert_true(kept > 0 && kept < made);
	assert_int_equal(kept + record_perf_event_lost(fd), made);
	record_data_ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_reported_once),
		cmocka_unit_test(what_is_lost_last_is_counted),
		cmocka_unit_test(records_come_in_order),
		cmocka_unit_test(what_is_new_waits_for_other_cpus),
		cmocka_unit_test(processes_outside_of_the_namespace_are_left_out),
		cmocka_unit_test(a_mapping_has_all_its_fields),
		cmocka_unit_test(a_name_is_no_program),
		cmocka_unit_test(notes_wait_with_their_records),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(what_makes_no_sense_is_of_no_kind),
		cmocka_unit_test(a_sample_has_its_thread),
		cmocka_unit_test(a_thread_that_is_added_later_is_reported_and_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

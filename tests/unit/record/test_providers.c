/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the recorder's side of providers in a folder of the test: names, rules, slots of sessions, cleaning up, and
 * rings written by this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/error.h>
#include <ptl/reader.h>

#include "record/capture/machine.h"
#include "record/provider/rules.h"
#include "record/provider/providers_state.h"

#define RING 4096u
#define ID 0xabcull
#define SESSION 0xdefull

struct fixture {
	char path[64];
	int folder;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->path, "/dev/shm/ptl-providers-XXXXXX");
	if (!mkdtemp(fixture->path))
		return -1;
	fixture->folder = open(fixture->path, O_RDONLY | O_DIRECTORY);
	*state = fixture;
	return fixture->folder < 0 ? -1 : 0;
}

static int remove_file(void *context, const char *text, const struct record_shm_name *name)
{
	(void)name;
	if (text[0] != '.' || strlen(text) > 2)
		unlinkat(((struct fixture *)context)->folder, text, 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	record_shm_list(fixture->folder, remove_file, fixture);
	close(fixture->folder);
	rmdir(fixture->path);
	free(fixture);
	return 0;
}

static bool is_there(const struct fixture *fixture, const char *name)
{
	return faccessat(fixture->folder, name, F_OK, 0) == 0;
}

static int make_file(const struct fixture *fixture, const char *name, uint64_t size)
{
	const int file = openat(fixture->folder, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, (off_t)size), 0);
	return file;
}

/* ---- names and rules ------------------------------------------------------------------------- */

static void parses_names(void **state)
{
	static const char *const others[] = {
		"",
		".",
		"session.1",
		"session.32",
		"session.0x",
		"session.001",
		"process.1.abc",
		"process.0.0000000000000abc",
		"process.4294967296.0000000000000abc",
		"process.1.0000000000000ABC",
		"process.1.0000000000000abc ",
		"process.-1.0000000000000abc",
		"rings.1.0000000000000abc",
		"rings.1.0000000000000abc.0000000000000de",
		"Process.1.0000000000000abc",
	};
	struct record_shm_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		record_shm_parse(others[i], &name);
		assert_int_equal(name.kind, RECORD_SHM_OTHER);
	}
	record_shm_parse("session.31", &name);
	assert_int_equal(name.kind, RECORD_SHM_SESSION);
	assert_int_equal(name.slot, 31);
	record_shm_parse("process.4294967295.0000000000000abc", &name);
	assert_int_equal(name.kind, RECORD_SHM_PROCESS);
	assert_int_equal(name.pid, UINT32_MAX);
	assert_int_equal(name.process, ID);
	record_shm_parse("rings.7.0000000000000abc.fedcba9876543210", &name);
	assert_int_equal(name.kind, RECORD_SHM_RINGS);
	assert_true(name.session == 0xfedcba9876543210ull);
}

static const struct {
	const char *pattern, *name;
	bool matches;
} patterns[] = {
	{"Shop-*", "Shop-Server", true},
	{"shop-*", "SHOP-", true},
	{"Shop-*", "Shop", false},
	{"Shop-*", "My-Shop-A", false},
	{"Shop-?", "Shop-A", true},
	{"Shop-?", "Shop-", false},
	{"Shop-?", "Shop-AB", false},
	{"*Shop*", "My-Shop-A", true},
	{"*-a*-b", "x-a-a-c-b", true},
	{"*-a*-b", "x-a-a-c-bb", false},
	{"A*B*C", "AxBxBC", true},
	{"A*B*C", "AxCxB", false},
	{"A**:3", "A", true},
	{"?*:all", "", false},
	{"A*[x]", "A[x]", true},
};

static void parses_rules(void **state)
{
	struct provider_shm_rule rule;
	struct ptl_guid guid;
	const struct ptl_guid none = {{0}};
	char longest[PROVIDER_SHM_PROVIDER_NAME_SIZE + 1];

	(void)state;
	assert_int_equal(record_provider_rule_parse("Shop", &rule), 0);
	assert_int_equal(rule.match, PROVIDER_SHM_MATCH_NAME);
	assert_string_equal(rule.name, "Shop");
	assert_int_equal(rule.level, 255);
	assert_true(rule.keywords == UINT64_MAX);
	assert_int_equal(record_provider_rule_parse("*:Warning:0x12", &rule), 0);
	assert_int_equal(rule.match, PROVIDER_SHM_MATCH_ALL);
	assert_int_equal(rule.level, 3);
	assert_int_equal(rule.keywords, 0x12);
	assert_int_equal(record_provider_rule_parse("9e814aad-3204-11d2-9a82-006008a86939::1", &rule), 0);
	assert_int_equal(rule.match, PROVIDER_SHM_MATCH_GUID);
	assert_int_equal(rule.level, 255);
	assert_int_equal(record_provider_rule_parse("*Microsoft-Windows-DotNETRuntime:4", &rule), 0);
	assert_int_equal(rule.match, PROVIDER_SHM_MATCH_GUID);
	assert_int_equal(rule.level, 4);
	assert_int_equal(ptl_guid_from_name("Microsoft-Windows-DotNETRuntime", &guid), 0);
	assert_memory_equal(&rule.guid, &guid, sizeof(guid));
	assert_int_equal(record_provider_rule_parse("*\xff", &rule), PTL_MISUSE);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		assert_int_equal(record_provider_rule_parse(patterns[i].pattern, &rule), 0);
		assert_int_equal(rule.match, PROVIDER_SHM_MATCH_PATTERN);
		if (provider_shm_rule_matches(&rule, &(struct provider_shm_identity){patterns[i].name, &guid, &none}) !=
		    patterns[i].matches)
			fail_msg("%s: %s", patterns[i].pattern, patterns[i].name);
	}
	/* A GUID matches the provider or its group; "no group" matches nothing. */
	assert_int_equal(record_provider_rule_parse("*A", &rule), 0);
	assert_true(provider_shm_rule_matches(&rule, &(struct provider_shm_identity){"B", &guid, &rule.guid}));
	assert_false(provider_shm_rule_matches(&rule, &(struct provider_shm_identity){"B", &guid, &none}));
	assert_int_equal(record_provider_rule_parse("00000000-0000-0000-0000-000000000000", &rule), 0);
	assert_false(provider_shm_rule_matches(&rule, &(struct provider_shm_identity){"B", &guid, &none}));
	assert_int_equal(record_provider_rule_parse("A:0", &rule), 0);
	assert_int_equal(rule.level, 0);
	assert_int_equal(record_provider_rule_parse("A:256", &rule), PTL_MISUSE);
	assert_int_equal(record_provider_rule_parse("A:1:many", &rule), PTL_MISUSE);
	assert_int_equal(record_provider_rule_parse("", &rule), PTL_MISUSE);
	assert_int_equal(record_provider_rule_parse(":1", &rule), PTL_MISUSE);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(record_provider_rule_parse(longest, &rule), PTL_MISUSE);
	longest[sizeof(longest) - 2] = 0;
	assert_int_equal(record_provider_rule_parse(longest, &rule), 0);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void gives_each_session_a_slot(void **state)
{
	struct record_provider_session sessions[PTL_SESSIONS_MAX + 1] = {0};
	struct fixture *fixture = *state;
	struct provider_shm_session_file file;
	bool alive;

	for (unsigned i = 0; i <= PTL_SESSIONS_MAX; i++)
		sessions[i].file.session.ring_size = RING;
	for (unsigned i = 0; i < PTL_SESSIONS_MAX; i++) {
		assert_int_equal(record_provider_session_make(fixture->folder, &sessions[i]), 0);
		assert_int_equal(sessions[i].file.session.slot, i);
	}
	assert_int_equal(record_provider_session_make(fixture->folder, &sessions[PTL_SESSIONS_MAX]), PTL_SYSTEM);
	assert_int_equal(record_provider_session_read(fixture->folder, 5, &file, &alive), 0);
	assert_true(alive && file.session.id == sessions[5].file.session.id);
	/* Cleaning keeps files of live processes. */
	assert_int_equal(record_provider_clean(fixture->folder), 0);
	assert_true(is_there(fixture, "session.05"));
	record_provider_session_remove(fixture->folder, &sessions[5]);
	assert_false(is_there(fixture, "session.05"));
	assert_int_equal(record_provider_session_make(fixture->folder, &sessions[PTL_SESSIONS_MAX]), 0);
	assert_int_equal(sessions[PTL_SESSIONS_MAX].file.session.slot, 5);
	for (unsigned i = 0; i <= PTL_SESSIONS_MAX; i++)
		record_provider_session_remove(fixture->folder, &sessions[i]);
	assert_false(is_there(fixture, "session.31"));
}

static void sweeps_up_what_the_dead_left(void **state)
{
	struct record_provider_session session = {.file.session.ring_size = RING};
	struct fixture *fixture = *state;
	char living[PROVIDER_SHM_NAME_SIZE];
	int file;

	/* A killed recorder: the file exists without a lock. */
	assert_int_equal(record_provider_session_make(fixture->folder, &session), 0);
	close(session.lock);
	/* A killed program with rings of that session. */
	close(make_file(fixture, "process.2147483647.0000000000000abc", RING));
	close(make_file(fixture, "rings.2147483647.0000000000000abc.0000000000000def", RING));
	/* A live program: our own file, which we have mapped. */
	snprintf(living, sizeof(living), "process.%d.0000000000000abc", (int)getpid());
	file = make_file(fixture, living, RING);
	void *map = mmap(NULL, RING, PROT_READ, MAP_SHARED, file, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(record_provider_clean(fixture->folder), 0);
	assert_false(is_there(fixture, "session.00"));
	assert_false(is_there(fixture, "rings.2147483647.0000000000000abc.0000000000000def"));
	assert_false(is_there(fixture, "process.2147483647.0000000000000abc"));
	assert_true(is_there(fixture, living));
	/* The same file after the program has executed another program. */
	munmap(map, RING);
	close(file);
	assert_int_equal(record_provider_clean(fixture->folder), 0);
	assert_false(is_there(fixture, living));
}

static void does_not_touch_what_is_not_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct stat info;

	close(make_file(fixture, "process.1.0000000000000abc", RING));
	assert_int_equal(fchmodat(fixture->folder, "process.1.0000000000000abc", 0644, 0), 0);
	assert_int_equal(record_shm_open_file(fixture->folder, "process.1.0000000000000abc", O_RDONLY, &info), -1);
	assert_int_equal(symlinkat("/etc/passwd", fixture->folder, "process.2.0000000000000abc"), 0);
	assert_int_equal(record_shm_open_file(fixture->folder, "process.2.0000000000000abc", O_RDONLY, &info), -1);
	assert_int_equal(mkfifoat(fixture->folder, "process.3.0000000000000abc", 0600), 0);
	assert_int_equal(record_shm_open_file(fixture->folder, "process.3.0000000000000abc", O_RDONLY, &info), -1);
}

/* ---- rings ----------------------------------------------------------------------------------- */

#define RINGS_NAME "rings.7.0000000000000abc.0000000000000def"

struct writer {
	uint8_t *map; /* the whole file */
	struct provider_shm_ring *ring;
	uint64_t time;
};

static void make_rings(const struct fixture *fixture, struct writer *writer)
{
	const struct provider_shm_rings first = {.magic = PROVIDER_SHM_RINGS_MAGIC,
						 .version = PROVIDER_SHM_VERSION,
						 .pid = 7,
						 .id = ID,
						 .session = SESSION,
						 .ring_size = RING,
						 .ring_count = 1};
	const uint64_t size = PROVIDER_SHM_RING_OFFSET(RING, 1);
	const int file = make_file(fixture, RINGS_NAME, size);

	writer->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(writer->map != MAP_FAILED);
	close(file);
	memcpy(writer->map, &first, sizeof(first));
	writer->ring = (void *)(writer->map + PROVIDER_SHM_RING_OFFSET(RING, 0));
	writer->time = 0;
}

/* Writes a record with this number as payload, also across the ring's end. */
static void put(struct writer *writer, uint64_t number)
{
	const struct provider_shm_record header = {
		.size = sizeof(header) + 8, .payload_size = 8, .time = ++writer->time, .tid = 7};
	uint8_t record[sizeof(header) + 8];

	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), &number, 8);
	for (size_t i = 0; i < sizeof(record); i++)
		((uint8_t *)writer->ring)[PROVIDER_SHM_PAGE + (writer->ring->head + i) % RING] = record[i];
	writer->ring->head += sizeof(record);
}

/* A ring that was left and completely read takes no memory, until a thread takes the ring again. */
static void gives_back_what_threads_have_left(void **state)
{
	struct record_shm_event event;
	struct record_shm_rings rings;
	struct writer writer;
	struct stat before, after;
	uint64_t lost;
	unsigned share;

	make_rings(*state, &writer);
	assert_int_equal(record_shm_rings_open(((struct fixture *)*state)->folder, RINGS_NAME, RING, &rings), 0);
	assert_int_equal(record_shm_rings_look(&rings), 0);
	writer.ring->state = PROVIDER_SHM_RING_ACTIVE;
	put(&writer, 1);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), 0);
	record_shm_ring_taken(&rings.rings[0], &event);
	assert_int_equal(fstat(rings.file, &before), 0);
	/* A thread uses the ring. */
	record_shm_ring_release(&rings, 0);
	assert_int_equal(writer.ring->state, PROVIDER_SHM_RING_ACTIVE);
	assert_int_equal(fstat(rings.file, &after), 0);
	assert_true(after.st_blocks == before.st_blocks);
	/* The thread has left the ring, with unread records. */
	writer.ring->state = PROVIDER_SHM_RING_CLOSED;
	put(&writer, 2);
	record_shm_ring_release(&rings, 0);
	assert_int_equal(writer.ring->state, PROVIDER_SHM_RING_CLOSED);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), 0);
	record_shm_ring_taken(&rings.rings[0], &event);
	record_shm_ring_release(&rings, 0);
	assert_int_equal(writer.ring->state, PROVIDER_SHM_RING_RELEASED);
	assert_int_equal(fstat(rings.file, &after), 0);
	assert_true(after.st_size == before.st_size && after.st_blocks < before.st_blocks);
	/* The ring is taken again. */
	writer.ring->state = PROVIDER_SHM_RING_ACTIVE;
	put(&writer, 3);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), 0);
	assert_int_equal(event.payload[0], 3);
	/* Cut short under our hands. */
	record_shm_ring_taken(&rings.rings[0], &event);
	writer.ring->state = PROVIDER_SHM_RING_CLOSED;
	assert_int_equal(ftruncate(rings.file, PROVIDER_SHM_PAGE), 0);
	record_shm_ring_release(&rings, 0);
	assert_true(rings.broken);
	record_shm_rings_close(&rings);
	munmap(writer.map, PROVIDER_SHM_RING_OFFSET(RING, 1));
}

static void reads_rings_round_and_round(void **state)
{
	struct record_shm_event event;
	struct record_shm_rings rings;
	uint64_t written = 0, read = 0, lost;
	struct writer writer;
	unsigned share;

	make_rings(*state, &writer);
	assert_int_equal(record_shm_rings_open(((struct fixture *)*state)->folder, RINGS_NAME, RING, &rings), 0);
	assert_int_equal(record_shm_rings_look(&rings), 0);
	assert_int_equal(rings.count, 1);
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < round % 70; i++)
			put(&writer, written++);
		assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
		assert_int_equal(lost, 0);
		assert_true(writer.ring->tail == writer.ring->head);
		while (record_shm_ring_next(&rings.rings[0], &event, &lost) == 0) {
			uint64_t number;

			memcpy(&number, event.payload, 8);
			assert_true(number == read);
			read++;
			record_shm_ring_taken(&rings.rings[0], &event);
		}
	}
	assert_true(read == written && read > 6000);
	/* The program overwrites tail, which the recorder ignores. */
	writer.ring->tail = 12345;
	put(&writer, written++);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), 0);
	record_shm_ring_taken(&rings.rings[0], &event);
	/* The program overwrites head. */
	writer.ring->head += RING + 8;
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(lost, RING);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), PTL_NOT_FOUND);
	put(&writer, written++);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_int_equal(record_shm_ring_next(&rings.rings[0], &event, &lost), 0);
	record_shm_rings_close(&rings);
	munmap(writer.map, PROVIDER_SHM_RING_OFFSET(RING, 1));
}

static void survives_a_file_that_is_cut(void **state)
{
	struct fixture *fixture = *state;
	struct record_shm_rings rings;
	struct writer writer;
	uint64_t lost, counts[PROVIDER_SHM_PROVIDERS_MAX];
	unsigned share;
	int file;

	make_rings(fixture, &writer);
	put(&writer, 1);
	assert_int_equal(record_shm_rings_open(fixture->folder, RINGS_NAME, RING, &rings), 0);
	assert_int_equal(record_shm_rings_look(&rings), 0);
	file = openat(fixture->folder, RINGS_NAME, O_RDWR);
	assert_int_equal(ftruncate(file, 0), 0);
	close(file);
	assert_int_equal(record_shm_ring_copy(&rings, 0, &lost, &share), 0);
	assert_true(rings.broken);
	assert_false(record_shm_rings_lost(&rings, counts));
	record_shm_rings_close(&rings);
	munmap(writer.map, PROVIDER_SHM_RING_OFFSET(RING, 1));
}

/* ---- schemas --------------------------------------------------------------------------------- */

static int count_record(void *context, uint32_t provider, uint64_t type, const uint8_t *body, size_t size)
{
	assert_int_equal(provider, 0);
	assert_int_equal(type, 3);
	assert_int_equal(size, 1);
	assert_int_equal(body[0], 0x55);
	++*(unsigned *)context;
	return 0;
}

static void takes_schemas_when_their_provider_is_there(void **state)
{
	const char *name = "process.7.0000000000000abc";
	const struct provider_shm_process header = {.magic = PROVIDER_SHM_PROCESS_MAGIC,
						    .version = PROVIDER_SHM_VERSION,
						    .pid = 7,
						    .id = ID,
						    .clock = PTL_CLOCK_MONOTONIC,
						    .heap_end = PROVIDER_SHM_HEAP_OFFSET + 24};
	const struct provider_shm_chunk chunk = {.size = 24, .data_size = 3};
	const uint8_t record[8] = {3, 1, 0x55};
	struct fixture *fixture = *state;
	struct record_shm_process process;
	const uint32_t one = 1;
	unsigned taken = 0;
	int file;

	file = make_file(fixture, name, PROVIDER_SHM_HEAP_OFFSET);
	assert_int_equal(pwrite(file, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(file, &chunk, sizeof(chunk), PROVIDER_SHM_HEAP_OFFSET), sizeof(chunk));
	assert_int_equal(pwrite(file, record, 8, PROVIDER_SHM_HEAP_OFFSET + 16), 8);
	assert_int_equal(record_shm_process_open(fixture->folder, name, true, &process), 0);
	record_shm_process_look(&process);
	assert_int_equal(record_shm_process_chunks(&process, count_record, &taken), 0);
	assert_int_equal(taken, 0);
	assert_int_equal(pwrite(file, &one, 4, offsetof(struct provider_shm_process, provider_count)), 4);
	record_shm_process_look(&process);
	assert_int_equal(record_shm_process_chunks(&process, count_record, &taken), 0);
	assert_int_equal(taken, 1);
	assert_int_equal(record_shm_process_chunks(&process, count_record, &taken), 0);
	assert_int_equal(taken, 1);
	record_shm_process_close(&process);
	close(file);
}

/* ---- streams --------------------------------------------------------------------------------- */

static char *const words[] = {(char *)"test", NULL};

static int note(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	uint64_t *last = context;

	(void)trace;
	/* Ties stay in the order of writing. */
	assert_true(event->time > last[0] || (event->time == last[0] && event->tid > last[1]));
	last[0] = event->time;
	last[1] = event->tid;
	last[2]++;
	return 0;
}

static void keeps_streams_in_order(void **state)
{
	/* tid tells the order within a time. */
	static const struct {
		uint64_t time;
		uint32_t tid;
	} written[] = {{10, 1}, {30, 1}, {20, 1}, {40, 1}, {20, 2}, {25, 1}, {30, 2}, {40, 2}, {5, 1}};
	const struct record_settings settings = {
		.level = 1, .clock = PTL_CLOCK_MONOTONIC, .command_line = words, .command = words};
	struct fixture *fixture = *state;
	struct record_capture capture;
	struct ptl_machine machine;
	struct ptl_trace *trace;
	uint64_t seen[3] = {0};
	char path[128];

	snprintf(path, sizeof(path), "%s/a.ptl", fixture->path);
	record_machine_describe(&settings, &machine);
	assert_int_equal(record_capture_open(&capture, &settings, path, &machine), 0);
	struct record_ordered_streams stream_pairs = {.capture = &capture};
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
		const struct ptl_event event = {.time = written[i].time, .tid = written[i].tid, .cpu = PTL_NO_CPU};

		assert_int_equal(record_ordered_streams_write(&stream_pairs, &event, true), 0);
	}
	assert_int_equal(stream_pairs.count, 3);
	assert_int_equal(record_capture_close(&capture, 1), 0);
	assert_int_equal(ptl_open(path, NULL, &trace), 0);
	assert_int_equal(ptl_process(trace, NULL,
				     &(struct ptl_callbacks){.size = sizeof(struct ptl_callbacks), .event = note},
				     seen),
			 0);
	assert_int_equal(seen[2], sizeof(written) / sizeof(written[0]));
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_names),
		cmocka_unit_test(parses_rules),
		cmocka_unit_test_setup_teardown(gives_each_session_a_slot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sweeps_up_what_the_dead_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(does_not_touch_what_is_not_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gives_back_what_threads_have_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reads_rings_round_and_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_a_file_that_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(takes_schemas_when_their_provider_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_streams_in_order, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

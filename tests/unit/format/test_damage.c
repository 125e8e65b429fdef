/* SPDX-License-Identifier: BSD-2-Clause */
/* Truncates a small trace at every byte, and flips each bit: every change must be reported. */
#include "tests/unit/format_sample.h"

#define EVENTS 15
#define EVENTS_OF_A_BUFFER 5

struct reference {
	int fd;
	struct ptl_bytes file;
	uint8_t content[COMMON_SHA256_SIZE];
	uint64_t buffers;
};

static void make_reference(struct reference *reference, bool closed)
{
	struct ptl_trace *trace;

	reference->fd = sample_fd();
	sample_write(reference->fd, closed);
	reference->file = sample_bytes(reference->fd);
	trace = sample_open(reference->fd, false);
	assert_int_equal(sample_content(trace, reference->content), EVENTS);
	assert_int_equal(ptl_damage_count(trace), closed ? 0 : 1);
	reference->buffers = ptl_buffer_count(trace);
	ptl_close(trace);
}

static void free_reference(struct reference *reference)
{
	close(reference->fd);
	common_bytes_free(&reference->file);
}

/* Opens the file. Returns the number of buffers; 0 with *refused if the file is refused. */
static uint64_t look(int fd, bool ignore_index, uint8_t digest[COMMON_SHA256_SIZE], size_t *damages, bool *refused,
		     uint64_t *events)
{
	const struct ptl_open_options options = {.size = sizeof(options), .ignore_index = ignore_index};
	const int copy = dup(fd);
	struct ptl_trace *trace;
	uint64_t buffers;
	const int status = ptl_open_fd(copy, "damaged", &options, &trace);

	*refused = status != 0;
	if (status) {
		close(copy);
		assert_true(status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_NOT_OURS ||
			    status == PTL_UNSUPPORTED);
		assert_true(*ptl_error_text());
		return 0;
	}
	*events = sample_content(trace, digest);
	*damages = ptl_damage_count(trace);
	for (size_t i = 0; i < *damages; i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);

		assert_true(damage->offset + damage->size <= ptl_trace_size(trace));
		assert_true(*damage->text);
	}
	buffers = ptl_buffer_count(trace);
	ptl_close(trace);
	return buffers;
}

static void flip_every_bit(const struct reference *reference, bool ignore_index, size_t usual_damages)
{
	for (size_t at = 0; at < reference->file.size; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			const uint8_t flipped = reference->file.data[at] ^ (uint8_t)(1u << bit);
			uint8_t digest[COMMON_SHA256_SIZE];
			size_t damages = 0;
			uint64_t events = 0, buffers;
			bool refused;

			assert_int_equal(pwrite(reference->fd, &flipped, 1, (off_t)at), 1);
			buffers = look(reference->fd, ignore_index, digest, &damages, &refused, &events);
			/* A buffer behind the file header identifies the file. */
			assert_false(refused);
			if (damages <= usual_damages && memcmp(digest, reference->content, sizeof(digest)) != 0)
				fail_msg("bit %u of byte %zu changes the content unseen", bit, at);
			assert_true(buffers + 1 >= reference->buffers);
			assert_true(events + EVENTS_OF_A_BUFFER >= EVENTS);
		}
		assert_int_equal(pwrite(reference->fd, &reference->file.data[at], 1, (off_t)at), 1);
	}
}

static void a_flipped_bit_costs_one_buffer(void **state)
{
	struct reference reference;

	(void)state;
	make_reference(&reference, true);
	flip_every_bit(&reference, false, 0);
	free_reference(&reference);
}

static void a_flipped_bit_costs_one_buffer_when_scanned(void **state)
{
	struct reference reference;

	(void)state;
	make_reference(&reference, true);
	flip_every_bit(&reference, true, 0);
	free_reference(&reference);
}

static void a_flipped_bit_costs_one_buffer_without_index(void **state)
{
	struct reference reference;

	(void)state;
	make_reference(&reference, false);
	flip_every_bit(&reference, false, 1);
	free_reference(&reference);
}

/* Each truncation keeps the complete buffers, and reports the end of the file. */
static void every_cut_keeps_whole_buffers(void **state)
{
	struct reference reference;
	struct ptl_trace *trace;
	uint64_t ends[64];
	size_t count;

	(void)state;
	make_reference(&reference, true);
	trace = sample_open(reference.fd, true);
	count = ptl_buffer_count(trace);
	assert_in_range(count, 5, 64);
	for (size_t i = 0; i < count; i++)
		ends[i] = i + 1 < count ? ptl_buffer_at(trace, i + 1)->offset : 0;
	/* The last buffer ends at the index, whose trailer has the position. */
	ends[count - 1] = common_load64(reference.file.data + reference.file.size - 32);
	ptl_close(trace);
	for (size_t size = reference.file.size - 1; size + 1 > 0; size--) {
		uint8_t digest[COMMON_SHA256_SIZE];
		size_t damages = 0, whole = 0;
		uint64_t events = 0, buffers;
		bool refused;

		assert_int_equal(ftruncate(reference.fd, (off_t)size), 0);
		while (whole < count && ends[whole] <= size)
			whole++;
		buffers = look(reference.fd, false, digest, &damages, &refused, &events);
		assert_int_equal(refused, size < 64);
		assert_int_equal(buffers, whole);
		assert_true(refused || damages > 0);
	}
	free_reference(&reference);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_bit_costs_one_buffer),
		cmocka_unit_test(a_flipped_bit_costs_one_buffer_when_scanned),
		cmocka_unit_test(a_flipped_bit_costs_one_buffer_without_index),
		cmocka_unit_test(every_cut_keeps_whole_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

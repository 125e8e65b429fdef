/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a long trace from a short trace: repeats each PT stream in time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/pt.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/error.h"

/*
 *     ptl_repeat IN.ptl TIMES OUT.ptl
 *
 * Everything but PT is copied once. Each repetition adds to its TSC packets a multiple of the period of TMA's 16-bit
 * CTC, so that MTC packets still fit.
 */
struct repeat {
	struct ptl_trace *trace;
	struct ptl_writer *writer;
	unsigned times;
	uint64_t ticks; /* TSC ticks from one repetition to the next */
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "ptl_repeat: %s: %s\n", what, ptl_error_text());
	exit(1);
}

static uint64_t to_time(const struct ptl_machine *machine, uint64_t ticks)
{
	if (!machine->tsc_multiplier)
		return ticks;
	return (uint64_t)((unsigned __int128)ticks * machine->tsc_multiplier >> machine->tsc_shift);
}

/* Returns the least number of ticks that exceeds the capture and after which TMA and MTC repeat. */
static uint64_t repetition_ticks(const struct ptl_machine *machine)
{
	const uint64_t period = 65536ull * (machine->ctc_numerator ? machine->ctc_numerator : 1);
	const uint64_t duration = machine->end_time - machine->start_time;
	uint64_t ticks = period;

	while (to_time(machine, ticks) < duration)
		ticks += period;
	return ticks;
}

/* Adds `ticks` to the TSC packets from a PSB to the next. */
static void move_segment(uint8_t *data, size_t size, uint64_t ticks)
{
	struct ptl_pt_context context = {0};

	for (size_t at = 0; at < size;) {
		struct ptl_pt_packet packet;
		const int length = ptl_pt_decode(data + at, size - at, &context, &packet);

		if (length <= 0)
			return;
		if (packet.kind == PTL_PT_TSC)
			for (unsigned i = 0; i < 7; i++)
				data[at + 1 + i] = (uint8_t)((packet.tsc.tsc + ticks) >> 8 * i);
		at += (size_t)length;
	}
}

static void repeat_once(struct repeat *repeat, const struct ptl_stream *from, struct ptl_stream *to, uint64_t position,
			uint64_t ticks)
{
	const uint64_t shift = to_time(ptl_trace_machine(repeat->trace), ticks);
	const struct ptl_psb *psbs;
	uint8_t *data = NULL;
	size_t count;

	if (ptl_psb_index(repeat->trace, from->id, &psbs, &count))
		die("PSBs");
	for (size_t i = 0; i < count; i++) {
		const size_t size = (size_t)((i + 1 < count ? psbs[i + 1].offset : from->bytes) - psbs[i].offset);
		uint64_t hole;
		size_t got;

		data = realloc(data, size);
		if (!data)
			die("memory");
		if (ptl_stream_read(repeat->trace, from->id, psbs[i].offset, data, size, &got, &hole) || got != size)
			die("PT is missing");
		move_segment(data, size, ticks);
		if (ptl_writer_psb(repeat->writer, to->id, position + psbs[i].offset - psbs[0].offset,
				   psbs[i].time + shift) ||
		    ptl_writer_bytes(repeat->writer, to->id, data, size, psbs[i].time + shift))
			die("writing");
	}
	free(data);
}

static void repeat_stream(struct repeat *repeat, const struct ptl_stream *from)
{
	struct ptl_stream to = *from;
	const struct ptl_psb *psbs;
	size_t count;

	if (ptl_psb_index(repeat->trace, from->id, &psbs, &count))
		die("PSBs");
	if (!count)
		return;
	if (ptl_writer_stream(repeat->writer, &to))
		die("stream");
	for (unsigned i = 0; i < repeat->times; i++)
		repeat_once(repeat, from, &to, i * (from->bytes - psbs[0].offset), i * repeat->ticks);
}

static void repeat_all(struct repeat *repeat)
{
	struct ptl_machine machine = *ptl_trace_machine(repeat->trace);

	repeat->ticks = repetition_ticks(&machine);
	for (size_t i = 0; i < ptl_buffer_count(repeat->trace); i++)
		if (ptl_buffer_at(repeat->trace, i)->stream.kind != PTL_KIND_PT &&
		    ptl_writer_copy(repeat->writer, repeat->trace, i))
			die("copying");
	for (size_t i = 0; i < ptl_stream_count(repeat->trace); i++)
		if (ptl_stream_at(repeat->trace, i)->kind == PTL_KIND_PT)
			repeat_stream(repeat, ptl_stream_at(repeat->trace, i));
	machine.end_time += to_time(&machine, repeat->ticks * (repeat->times - 1));
	if (ptl_writer_machine(repeat->writer, &machine))
		die("machine");
}

int main(int argc, char **argv)
{
	/* compression level that ptl-record uses by default */
	const struct ptl_writer_options options = {.size = sizeof(options), .level = 1, .threads = 1};
	struct repeat repeat = {.times = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0};
	int fd;

	if (argc != 4 || !repeat.times) {
		fprintf(stderr, "usage: ptl_repeat IN.ptl TIMES OUT.ptl\n");
		return 2;
	}
	if (ptl_open(argv[1], NULL, &repeat.trace))
		die(argv[1]);
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		perror(argv[3]);
		return 1;
	}
	if (ptl_writer_open(fd, &options, &repeat.writer))
		die(argv[3]);
	repeat_all(&repeat);
	if (ptl_writer_close(repeat.writer))
		die(argv[3]);
	ptl_close(repeat.trace);
	return 0;
}

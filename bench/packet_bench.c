/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the packet codec in one thread: encoding, decoding, the search for PSBs, printing. Packet kinds come in
 * random order, which CPUs cannot predict. Real streams (--pt) are faster.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/file.h"
#include "dump/print/packet_text.h"
#include "format/pt/decode.h"
#include "format/pt/encode.h"

#define ROUNDS 5
#define PSB_PERIOD (16u << 10)

/* A packet to encode, decided in advance so that only encoding is measured. */
struct step {
	uint64_t value;
	uint8_t kind;
};

/* Makes conditional and indirect branches, more near than far, as of an interpreter; and some timing packets. */
static void make_steps(struct step *steps, size_t count)
{
	uint64_t near = 0x401000, far = 0x7ffff7a00000;

	for (size_t i = 0; i < count; i++) {
		uint64_t random = bench_random();
		unsigned what = (unsigned)(random & 63);

		random >>= 6;
		if (what < 32)
			steps[i] = (struct step){(random & 63) | 64, PTL_PT_TNT_8};
		else if (what < 38)
			steps[i] = (struct step){random >> 17 | 1ull << 40, PTL_PT_TNT_64};
		else if (what < 60)
			steps[i] = (struct step){(what < 56 ? near : far) + (random & 0x3ffff), PTL_PT_TIP};
		else
			steps[i] = (struct step){random & 0xff, PTL_PT_MTC};
	}
}

static size_t encode(const struct step *steps, size_t count, uint8_t *data)
{
	uint8_t *at = data, *psb = data;
	uint64_t last_ip = 0;

	for (size_t i = 0; i < count; i++) {
		if (at >= psb) {
			psb = at + PSB_PERIOD;
			last_ip = 0;
			at += format_pt_put_psb(at);
			at += format_pt_put_tsc(at, i);
			at += format_pt_put_mode_exec(at, true, false, false);
			at += format_pt_put_psbend(at);
		}
		switch (steps[i].kind) {
		case PTL_PT_TNT_8:
		case PTL_PT_TNT_64:
			at += format_pt_put_tnt(at, steps[i].value);
			break;
		case PTL_PT_TIP:
			at += format_pt_put_tip(at, &last_ip, steps[i].value);
			break;
		default:
			at += format_pt_put_mtc(at, (uint8_t)steps[i].value);
			break;
		}
	}
	return (size_t)(at - data);
}

/* Decodes packets up to the end, or to the first invalid packet. */
static size_t decode_packets(const uint8_t *data, size_t size, bool print)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	char text[PACKET_TEXT_SIZE];
	size_t at = 0, packets = 0;
	uint64_t last_ip = 0, ip;
	int length;

	while ((length = format_pt_decode_inline(data + at, size - at, &context, &packet)) > 0) {
		if (print)
			dump_packet_text(&packet, last_ip, text);
		ptl_pt_ip_resolve(&packet, &last_ip, &ip);
		at += (size_t)length;
		packets++;
	}
	return packets;
}

static size_t find_psbs(const uint8_t *data, size_t size)
{
	size_t found = 0;

	for (size_t at = 0; (at = ptl_pt_find_psb(data, size, at)) < size; at += PTL_PT_PSB_SIZE)
		found++;
	return found;
}

static void bench_stream(const uint8_t *data, size_t size)
{
	double decoding = 1e9, printing = 1e9, finding = 1e9;
	size_t packets = 0, psbs = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = bench_now(CLOCK_THREAD_CPUTIME_ID), end;

		packets = decode_packets(data, size, false);
		end = bench_now(CLOCK_THREAD_CPUTIME_ID);
		decoding = end - start < decoding ? end - start : decoding;
		start = end;
		decode_packets(data, size, true);
		end = bench_now(CLOCK_THREAD_CPUTIME_ID);
		printing = end - start < printing ? end - start : printing;
		start = end;
		psbs = find_psbs(data, size);
		end = bench_now(CLOCK_THREAD_CPUTIME_ID);
		finding = end - start < finding ? end - start : finding;
	}
	bench_report("size", (double)size / (double)packets, "bytes/packet", "");
	bench_report("decoding", (double)size / decoding / 1e6, "MB/s", "");
	bench_report("decoding", (double)packets / decoding / 1e6, "million/s", "");
	bench_report("decoding and text", (double)packets / printing / 1e6, "million/s", "");
	bench_report("PSBs", (double)psbs, "", "");
	bench_report("search for PSBs", (double)size / finding / 1e6, "MB/s", "");
}

static size_t bench_encoding(size_t count, uint8_t **data)
{
	struct step *steps = malloc(count * sizeof(*steps));
	double best = 1e9;
	size_t size = 0;

	*data = calloc(count + count / 64, PTL_PT_PACKET_MAX);
	if (!steps || !*data) {
		fprintf(stderr, "packet_bench: no memory\n");
		exit(1);
	}
	make_steps(steps, count);
	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = bench_now(CLOCK_THREAD_CPUTIME_ID), end;

		size = encode(steps, count, *data);
		end = bench_now(CLOCK_THREAD_CPUTIME_ID);
		best = end - start < best ? end - start : best;
	}
	free(steps);
	bench_report("encoding", (double)count / best / 1e6, "million/s", "");
	bench_report("encoding", (double)size / best / 1e6, "MB/s", "");
	return size;
}

int main(int argc, char **argv)
{
	const char *pt_path = NULL;
	bool as_json = false;
	size_t count = 20000000, size;
	uint8_t *data;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (strcmp(argv[i], "--quick") == 0) {
			count /= 10;
		} else if (strcmp(argv[i], "--pt") == 0 && i + 1 < argc) {
			pt_path = argv[++i];
		} else {
			fprintf(stderr, "usage: packet_bench [--json] [--quick] [--pt FILE]\n");
			return 2;
		}
	}
	bench_start("packets", as_json);
	size = bench_encoding(count, &data);
	if (pt_path) {
		free(data);
		bench_check(common_read_file(pt_path, SIZE_MAX / 2, &data, &size), "cannot read");
	}
	bench_stream(data, size);
	free(data);
	return 0;
}

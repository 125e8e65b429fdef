/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the relogger: copying a trace of 1 GB, compared with cp of the same cached file; and rewriting each event on
 * one core. --size MIB makes the first trace smaller, --events N the second; --json prints JSON lines.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "bench/bench.h"
#include "common/bytes.h"
#include "relog/rules/stage.h"

#define ROUNDS 5
#define PAYLOAD 24
#define CPUS 4
#define PIECE (1u << 20)

/* --- the traces --------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/ptl-relog-bench-XXXXXX";
static char in_path[64], out_path[64], rules_path[64];

static struct ptl_writer *open_trace(uint32_t kind, struct ptl_stream *streams, unsigned count)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .threads = 1};
	struct ptl_writer *writer;
	const int fd = open(in_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		bench_fail(in_path);
	bench_check(ptl_writer_open(fd, &options, &writer), "cannot write");
	for (unsigned i = 0; i < count; i++) {
		streams[i] = (struct ptl_stream){.kind = kind, .cpu = i, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
		bench_check(ptl_writer_stream(writer, &streams[i]), "cannot write");
	}
	return writer;
}

/* Makes PT with a PSB every 4 KiB and nearly incompressible bytes, so that the copy has the size of the original. */
static void make_pt(size_t mebibytes)
{
	struct ptl_stream stream;
	struct ptl_writer *writer = open_trace(PTL_KIND_PT, &stream, 1);
	uint8_t *data = malloc(PIECE);

	if (!data)
		bench_fail("no memory");
	for (size_t i = 0; i < mebibytes; i++) {
		for (size_t j = 0; j < PIECE; j += 8)
			common_store64(data + j, bench_random());
		for (size_t j = 0; j < PIECE; j += 4096) {
			bench_check(ptl_writer_psb(writer, stream.id, i * PIECE + j, 1000 + i * 256 + j / 4096),
				    "cannot write");
			for (size_t k = 0; k < 16; k++)
				data[j + k] = k % 2 ? 0x82 : 0x02;
		}
		bench_check(ptl_writer_bytes(writer, stream.id, data, PIECE, 1000 + i * 256), "cannot write");
	}
	free(data);
	bench_check(ptl_writer_close(writer), "cannot write");
}

/* Makes context switches; half of the payload varies. */
static void make_events(size_t count)
{
	struct ptl_stream streams[CPUS];
	struct ptl_writer *writer = open_trace(PTL_KIND_EVENTS, streams, CPUS);
	uint8_t payload[PAYLOAD] = {0};
	struct ptl_event event = {
		.descriptor = {.provider = PTL_GUID(0x3d6fa8d1, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c),
			       .version = 2,
			       .opcode = 36},
		.time = 1000000000,
		.payload = payload,
		.payload_size = PAYLOAD,
	};

	for (size_t i = 0; i < count; i++) {
		const uint64_t random = bench_random();

		event.time += random % 20000;
		event.cpu = random >> 16 & (CPUS - 1);
		event.pid = event.tid = 400 + 4 * (random >> 20 & 127);
		common_store32(payload, event.tid);
		common_store32(payload + 4, 400 + 4 * (random >> 30 & 127));
		payload[8] = (uint8_t)(8 + (random >> 40 & 7));
		common_store32(payload + 16, random >> 44 & 15);
		bench_check(ptl_writer_event(writer, streams[event.cpu].id, &event), "cannot write");
	}
	bench_check(ptl_writer_close(writer), "cannot write");
}

/* --- copying ------------------------------------------------------------------------------------------ */

/* Runs a program. Returns its wall time. *kibibytes: peak memory. */
static double run_program(char *const argv[], long *kibibytes)
{
	const double start = bench_now(CLOCK_MONOTONIC);
	struct rusage usage;
	int status;
	const pid_t child = fork();

	if (child == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		bench_fail(argv[0]);
	*kibibytes = usage.ru_maxrss;
	return bench_now(CLOCK_MONOTONIC) - start;
}

static void bench_copy(size_t mebibytes)
{
	const char *bin = getenv("PTL_BIN");
	char relog[4096];
	char sha256[] = "--hash=sha256", durable[] = "--sync", sync_name[] = "sync";
	char cp_name[] = "cp", quiet[] = "-q", to[] = "-o";
	char *const cp[] = {cp_name, in_path, out_path, NULL};
	char *const copy[] = {relog, quiet, in_path, to, out_path, NULL};
	char *const secure[] = {relog, quiet, sha256, in_path, to, out_path, NULL};
	char *const synced[] = {relog, quiet, durable, in_path, to, out_path, NULL};
	char *const sync[] = {sync_name, out_path, NULL};
	double with_cp[ROUNDS], with_sync[ROUNDS], with_relog[ROUNDS], with_sha256[ROUNDS], relog_synced[ROUNDS];
	long memory = 0, unused;

	snprintf(relog, sizeof(relog), "%s/ptl-relog", bin ? bin : "build/bin");
	make_pt(mebibytes);
	unlink(out_path);
	run_program(cp, &unused); /* fills the page cache */
	/* Measure alternately, so that background load affects all programs. */
	for (unsigned i = 0; i < ROUNDS; i++) {
		unlink(out_path);
		with_cp[i] = run_program(cp, &unused);
		with_sync[i] = with_cp[i] + run_program(sync, &unused);
		unlink(out_path);
		with_relog[i] = run_program(copy, &memory);
		unlink(out_path);
		with_sha256[i] = run_program(secure, &unused);
		unlink(out_path);
		relog_synced[i] = run_program(synced, &unused);
	}
	unlink(out_path);
	bench_report("cp", (double)mebibytes / bench_median(with_cp, ROUNDS), "MiB/s", "");
	bench_report("cp, then sync of the file", (double)mebibytes / bench_median(with_sync, ROUNDS), "MiB/s", "");
	bench_report("ptl-relog, nothing changes", (double)mebibytes / bench_median(with_relog, ROUNDS), "MiB/s", "");
	bench_report("ptl-relog / cp, time", bench_median(with_relog, ROUNDS) / bench_median(with_cp, ROUNDS), "",
		     "aim: at most 1.3");
	bench_report("ptl-relog --hash=sha256 / cp, time",
		     bench_median(with_sha256, ROUNDS) / bench_median(with_cp, ROUNDS), "", "");
	bench_report("ptl-relog --sync / cp and sync, time",
		     bench_median(relog_synced, ROUNDS) / bench_median(with_sync, ROUNDS), "", "aim: at most 1.3");
	bench_report("ptl-relog, memory", (double)memory / 1024, "MiB", "aim: below 256");
}

/* --- rewriting ---------------------------------------------------------------------------------------- */

static int rewrite(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	++*(uint64_t *)context;
	ptl_event_set_pid(event, ptl_event_record(event)->pid + 1);
	return ptl_relogger_inject(relogger, event);
}

/* Rewrites all events by a callback, or by a rule file with this text. Reports the best round. */
static void bench_rewriting(const char *name, size_t count, const char *rules, const char *note)
{
	const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks), .event = rewrite};
	static struct relog_settings settings;
	double best = 1e9;

	settings.rules = rules_path;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct ptl_relogger *relogger;
		struct ptl_relogger_counts counts;
		void *stage = NULL;
		uint64_t seen = 0;
		const double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);

		bench_check(ptl_relogger_new(NULL, &relogger), "cannot start");
		bench_check(ptl_relogger_add_file(relogger, in_path, NULL, NULL), "cannot read");
		bench_check(ptl_relogger_output(relogger, out_path, true), "cannot write");
		if (rules) {
			FILE *file = fopen(rules_path, "w");

			if (!file || fputs(rules, file) < 0 || fclose(file) != 0)
				bench_fail(rules_path);
			bench_check(relog_stage_rules.add(&settings, relogger, &stage), "cannot use the rules");
		} else {
			bench_check(ptl_relogger_callbacks(relogger, &callbacks, &seen), "cannot start");
		}
		bench_check(ptl_relogger_process(relogger), "cannot rewrite");
		ptl_relogger_counts(relogger, &counts);
		if (counts.events_written != count)
			bench_fail("events are missing");
		if (stage)
			relog_stage_rules.free(stage);
		ptl_relogger_free(relogger);
		if (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start < best)
			best = bench_now(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	unlink(rules_path);
	bench_report(name, (double)count / best / 1e6, "Mevents/s", note);
}

static void bench_events(size_t count)
{
	make_events(count);
	bench_rewriting("every event rewritten, CPU time, one thread", count, NULL, "aim: at least 3");
	bench_rewriting("the same by a rule", count, "on any { set event.pid = event.pid + 1; }\n", "aim: at least 3");
	bench_rewriting("a rule looks at every event, matches a few", count,
			"on any pid 400 tid 400 cpu 0 time ..2s { set event.level = 1; }\n", "aim: at least 3");
	bench_rewriting("a rule with three comparisons rewrites every event", count,
			"on any where event.tid > 1 and event.pid <= event.tid and event.cpu < 64 "
			"{ set event.pid = event.pid + 1; }\n",
			"aim: at least 3");
	bench_rewriting("the same, beside one that names a process", count,
			"on any where event.tid > 1 and event.pid <= event.tid and event.cpu < 64 "
			"{ set event.pid = event.pid + 1; }\n"
			"on any process \"nobody\" { set event.level = 1; }\n",
			"aim: at least 3");
}

int main(int argc, char **argv)
{
	size_t mebibytes = 1024, events = 4000000;
	bool as_json = false;

	for (int i = 1; i < argc; i++) {
		as_json |= strcmp(argv[i], "--json") == 0;
		if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
			mebibytes = strtoul(argv[i + 1], NULL, 0);
		if (strcmp(argv[i], "--events") == 0 && i + 1 < argc)
			events = strtoul(argv[i + 1], NULL, 0);
	}
	bench_start("relog", as_json);
	if (!mkdtemp(folder))
		bench_fail(folder);
	snprintf(in_path, sizeof(in_path), "%s/in.ptl", folder);
	snprintf(out_path, sizeof(out_path), "%s/out.ptl", folder);
	snprintf(rules_path, sizeof(rules_path), "%s/bench.rules", folder);
	if (events)
		bench_events(events);
	if (mebibytes)
		bench_copy(mebibytes);
	unlink(in_path);
	unlink(out_path);
	rmdir(folder);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace as input of the relogger, runs of the relogger, and the contents of outputs. */
#ifndef TESTS_UNIT_RELOGGER_SAMPLE_H
#define TESTS_UNIT_RELOGGER_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#define RELOGGER_UNKNOWN_KIND 99 /* kind of a stream */
#define RELOGGER_PIECE 4096      /* bytes of PT from PSB to PSB */
#define RELOGGER_SHARED_CODE "code that both machines ran"

extern const struct ptl_guid relogger_provider;
extern const char relogger_own_code[];

struct relogger_run {
	struct ptl_relogger *relogger;
	int output;
};

struct relogger_seen {
	size_t count;
	uint64_t last_time;
	size_t backwards, injected;
	uint64_t id_sum;
	uint64_t times[512];
	uint16_t ids[512];
	uint32_t pids[512];
};

int relogger_new_file(void);
struct ptl_machine relogger_machine(const char *boot);
/*
 * Makes a trace: two alternating event streams, PT with 9 PSBs, a stream of unknown kind, blobs, an unknown record, a
 * loss.
 */
int relogger_sample(const struct ptl_machine *machine, const char *extra_code);

/* Starts a run. input -1: no input. */
struct relogger_run relogger_start(const struct ptl_relogger_options *options, int input);
void relogger_add_stage(struct relogger_run *run, struct ptl_relogger_callbacks callbacks, void *context);
/* Callback: injects each event. */
int relogger_keep(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event);
/* Ends the run. The caller closes the output. */
struct ptl_trace *relogger_finish(struct relogger_run *run);
void relogger_fails(struct relogger_run *run, int status, const char *text);

struct relogger_seen relogger_events(struct ptl_trace *trace);
/* Returns the first stream of the kind, or NULL. */
const struct ptl_stream *relogger_stream(const struct ptl_trace *trace, uint32_t kind);
/* Lists the pieces of PT in the output, by position. */
size_t relogger_pieces(struct ptl_trace *trace, uint8_t *numbers, uint64_t *positions);

#endif

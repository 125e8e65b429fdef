/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --max-rate: a budget of packets. The balance grows by the rate, up to the packets of a second, and shrinks by the
 * recorded packets. Intel PT is off from a negative balance until the balance has the packets of a quarter second. Each
 * stretch is a hole and a loss of each CPU on which a recorded thread ran. Context switches are still reported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "record/capture/notes.h"
#include "record/intel_pt/intel_pt_state.h"

#define SECOND 1000000000u
#define ELAPSED_MAX (1000ull * SECOND) /* longer pauses of the recorder count as this */
#define RESTART_SHARE 4                /* Intel PT restarts at rate / share */

struct intel_pt_rate {
	uint64_t rate;      /* bytes per second */
	int64_t balance;    /* bytes that may be recorded now */
	uint64_t looked;    /* time of the last step; 0: no step so far */
	uint64_t packets;   /* recorded bytes at the last step */
	uint64_t off_since; /* while pt->held: start of the stretch */
	uint64_t left_out;  /* nanoseconds that ended threads left out */
};

int intel_pt_rate_open(struct intel_pt *pt)
{
	const uint64_t rate = pt->session->settings->pt.max_rate;

	if (!rate)
		return 0;
	pt->rate = calloc(1, sizeof(*pt->rate));
	if (!pt->rate)
		return common_fail_memory("a budget", sizeof(*pt->rate));
	pt->rate->rate = rate;
	pt->rate->balance = (int64_t)rate;
	return 0;
}

/* ---- stretches ------------------------------------------------------------------------------- */

static void hold(struct intel_pt *pt, bool held)
{
	__atomic_store_n(&pt->held, held, __ATOMIC_RELEASE);
	for (size_t i = 0; i < pt->count; i++) {
		pthread_mutex_lock(&pt->buffers[i]->lock);
		intel_pt_buffer_control(pt->buffers[i], held ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE);
		pthread_mutex_unlock(&pt->buffers[i]->lock);
	}
}

/* Checks whether a recorded thread ran in the stretch. */
static bool was_used(const struct intel_pt_rate *rate, const struct intel_pt_buffer *buffer)
{
	return buffer->cpu == PTL_NO_CPU || buffer->running || buffer->last_switch >= rate->off_since;
}

static int leave_out(const struct intel_pt *pt, struct intel_pt_buffer *buffer, uint64_t now)
{
	char name[32], cause[128];
	struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = buffer->stream.id,
		.pid = buffer->stream.pid,
		.tid = buffer->stream.tid,
		.first_time = pt->rate->off_since,
		.last_time = now,
		.cause = cause,
	};
	int status;

	if (!was_used(pt->rate, buffer))
		return 0;
	buffer->left_out += now - pt->rate->off_since;
	snprintf(cause, sizeof(cause), "packets of %s are over --max-rate: left out",
		 intel_pt_buffer_name(buffer, name));
	status = intel_pt_stream_break(&buffer->stream, 0);
	return status < 0 ? status : record_capture_loss(&pt->session->capture, &loss);
}

/* Ends the stretch. The kernel wrote the last packets before the stretch when Intel PT went off. */
static int leave_out_all(struct intel_pt *pt, uint64_t now)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < pt->count; i++) {
		bool work;

		status = intel_pt_drain(pt, pt->buffers[i], &work);
		if (status == 0)
			status = leave_out(pt, pt->buffers[i], now);
	}
	return status;
}

static void count_packets(struct intel_pt *pt, uint64_t now)
{
	struct intel_pt_rate *rate = pt->rate;
	const uint64_t elapsed = rate->looked ? now - rate->looked : 0, packets = pt->session->capture.pt_bytes;

	rate->balance += (int64_t)((__uint128_t)rate->rate * (elapsed < ELAPSED_MAX ? elapsed : ELAPSED_MAX) / SECOND);
	rate->balance -= (int64_t)(packets - rate->packets);
	if (rate->balance > (int64_t)rate->rate)
		rate->balance = (int64_t)rate->rate;
	rate->looked = now;
	rate->packets = packets;
}

int intel_pt_rate_step(struct intel_pt *pt, uint64_t now)
{
	struct intel_pt_rate *rate = pt->rate;
	int status = 0;

	if (!rate || !pt->enabled || now < rate->looked)
		return 0;
	count_packets(pt, now);
	if (!pt->held && rate->balance < 0) {
		rate->off_since = record_now();
		hold(pt, true);
	} else if (pt->held && rate->balance >= (int64_t)(rate->rate / RESTART_SHARE)) {
		status = leave_out_all(pt, record_now());
		hold(pt, false);
	}
	return status;
}

uint64_t intel_pt_rate_due(const struct intel_pt *pt, uint64_t now)
{
	const struct intel_pt_rate *rate = pt->rate;
	int64_t missing;

	if (!rate || !pt->held)
		return UINT64_MAX;
	missing = (int64_t)(rate->rate / RESTART_SHARE) - rate->balance;
	if (missing <= 0)
		return now;
	return rate->looked + (uint64_t)((__uint128_t)(uint64_t)missing * SECOND / rate->rate) + 1;
}

/* ---- the end --------------------------------------------------------------------------------- */

int intel_pt_rate_drop(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	int status;

	if (!pt->rate)
		return 0;
	status = pt->held ? leave_out(pt, buffer, record_now()) : 0;
	pt->rate->left_out += buffer->left_out;
	return status;
}

static void add_time(struct ptl_bytes *text, uint64_t left_out, const char *where)
{
	common_text_add(text, text->size ? ", " : "left out ");
	common_text_duration(text, left_out);
	common_text_format(text, " %s", where);
}

/* Returns whether packets were left out, and the text of times and places. */
static bool describe_left_out(const struct intel_pt *pt, uint64_t now, struct ptl_bytes *text)
{
	char name[32], where[40];

	for (size_t i = 0; i < pt->count; i++) {
		if (!pt->buffers[i]->left_out)
			continue;
		snprintf(where, sizeof(where), "on %s", intel_pt_buffer_name(pt->buffers[i], name));
		add_time(text, pt->buffers[i]->left_out, where);
	}
	if (pt->rate->left_out)
		add_time(text, pt->rate->left_out, "in threads that have ended");
	if (!text->size)
		return false;
	common_text_add(text, ", of ");
	common_text_duration(text, now - pt->session->start);
	common_text_add(text, " (--max-rate)");
	return true;
}

int intel_pt_rate_finish(struct intel_pt *pt, uint64_t now)
{
	struct ptl_bytes text = {0};
	int status = 0;

	if (!pt->rate)
		return 0;
	if (pt->held)
		status = leave_out_all(pt, now);
	if (status == 0 && describe_left_out(pt, now, &text)) {
		common_message_note("%s", common_text_string(&text));
		status = record_note(
			&pt->session->capture,
			&(struct record_note){.time = now, .warning = true, .text = common_text_string(&text)});
	}
	common_bytes_free(&text);
	return status;
}

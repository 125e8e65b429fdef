/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses of programs' events. */
#include <stdio.h>

#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define SECOND 1000000000ull
#define LOSS_WAIT_MIN SECOND
#define LOSS_WAIT_MAX (64 * SECOND)

int record_writer_lose(struct record_providers *providers, const struct record_writer *writer, uint64_t count,
		       uint64_t bytes, const char *cause)
{
	const uint64_t now = record_now();
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = writer->shm.pid,
		.tid = PTL_NO_ID,
		.count = count,
		.bytes = bytes,
		.first_time = writer->lost_from ? writer->lost_from : providers->start,
		.last_time = now,
		.cause = cause,
	};

	return record_capture_loss(providers->capture, &loss);
}

static int lose_of(struct record_providers *providers, const struct record_writer *writer, uint32_t provider,
		   uint64_t count, const char *cause)
{
	const char *name = provider < writer->shm.provider_count ? writer->shm.providers[provider].name : "?";
	char text[PROVIDER_SHM_PROVIDER_NAME_SIZE + 160];

	snprintf(text, sizeof(text), "events of provider %s: %s", name, cause);
	return record_writer_lose(providers, writer, count, 0, text);
}

static int report_dropped(struct record_providers *providers, struct record_writer *writer, uint32_t n,
			  uint64_t dropped)
{
	const unsigned slot = providers->session.file.session.slot;
	struct record_writer_loss *loss = &writer->losses[n];
	struct record_shm_entry entry;
	int status = 0;

	/* A lower number than before is invalid. */
	if (dropped > loss->seen)
		status = lose_of(providers, writer, n, dropped - loss->seen,
				 "they came faster than they were taken (--provider-buffer)");
	loss->seen = dropped;
	/* At the end of the session, a program without a ring has lost nothing. */
	if (status == 0 && !providers->ending && n < writer->shm.provider_count &&
	    record_shm_process_entry(&writer->shm, n, &entry)) {
		const uint64_t no_ring = entry.enabled.slots[slot].lost;

		if (no_ring > loss->no_ring)
			status = lose_of(providers, writer, n, no_ring - loss->no_ring,
					 "there was no memory for them in the program");
		loss->no_ring = no_ring;
	}
	if (status == 0 && loss->refused) {
		status = lose_of(providers, writer, n, loss->refused, "it claims an identity that is the kernel's");
		loss->refused = 0;
	}
	return status;
}

int record_writer_report_losses(struct record_providers *providers, struct record_writer *writer, uint64_t now,
				bool always)
{
	const uint64_t before = providers->capture->losses.records;
	uint64_t dropped[PROVIDER_SHM_PROVIDERS_MAX] = {0};
	int status = 0;

	if (!always && now < writer->lost_due)
		return 0;
	if (writer->rings_name[0] && !record_shm_rings_lost(&writer->rings, dropped))
		return 0;
	for (uint32_t n = 0; status == 0 && n < writer->shm.provider_count; n++)
		status = report_dropped(providers, writer, n, dropped[n]);
	/* Reports a program with continuous losses at growing intervals. */
	if (providers->capture->losses.records == before)
		writer->lost_wait = LOSS_WAIT_MIN;
	else if (writer->lost_wait < LOSS_WAIT_MAX)
		writer->lost_wait *= 2;
	writer->lost_from = now;
	writer->lost_due = now + (writer->lost_wait ? writer->lost_wait : LOSS_WAIT_MIN);
	return status;
}

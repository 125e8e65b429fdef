/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares each branch with the place where flow continues, as dump/flow/flow_view.c does for the lines of branches.
 */
#include "analysis/profile/branch_tally.h"

static void settle_branch(struct analysis_branch_tally *tally, const struct analysis_branch_pending *branch,
			  const struct analysis_branch_landing *landing)
{
	if (!branch->valid || !landing->valid)
		return;
	if (branch->kind != FLOW_BRANCH_CONDITIONAL)
		tally->taken++;
	else if (landing->known && landing->ip == branch->next_ip)
		tally->not_taken++;
	else
		tally->taken += landing->known;
}

static void land(struct analysis_branch_tally *tally, struct analysis_branch_landing landing)
{
	landing.valid = true;
	if (!tally->first.valid)
		tally->first = landing;
	else
		settle_branch(tally, &tally->last, &landing);
	tally->last.valid = false;
}

static void land_on_event(struct analysis_branch_tally *tally, const struct flow_event *event)
{
	struct analysis_branch_landing landing = {.known = false};

	if (!flow_event_splits(event->kind))
		return;
	if (event->kind == FLOW_DISABLED)
		landing = (struct analysis_branch_landing){.known = event->flags & FLOW_EVENT_HAS_TO, .ip = event->to};
	else if (event->kind != FLOW_GAP && event->kind != FLOW_ENABLED)
		landing = (struct analysis_branch_landing){.known = event->flags & FLOW_EVENT_HAS_FROM,
							   .ip = event->from};
	land(tally, landing);
}

void analysis_branch_tally_add(struct analysis_branch_tally *tally, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);

	while (flow_batch_next(&cursor)) {
		const struct flow_block *block = cursor.block;

		if (!block) {
			land_on_event(tally, cursor.event);
			continue;
		}
		land(tally, (struct analysis_branch_landing){.known = true, .ip = block->ip});
		if (block->branch != FLOW_BRANCH_NONE)
			tally->last = (struct analysis_branch_pending){true, block->branch, block->ip + block->size};
	}
}

void analysis_branch_tally_join(struct analysis_branch_tally *tally, const struct analysis_branch_tally *next)
{
	tally->taken += next->taken;
	tally->not_taken += next->not_taken;
	if (!next->first.valid)
		return;
	if (!tally->first.valid)
		tally->first = next->first;
	else
		settle_branch(tally, &tally->last, &next->first);
	tally->last = next->last;
}

#define FIRST_VALID 1u
#define FIRST_KNOWN 2u
#define LAST_VALID 4u

void analysis_branch_tally_write(const struct analysis_branch_tally *tally, struct ptl_bytes *record)
{
	common_write_varint(record, tally->taken);
	common_write_varint(record, tally->not_taken);
	common_write_le(record,
			(tally->first.valid ? FIRST_VALID : 0) | (tally->first.known ? FIRST_KNOWN : 0) |
				(tally->last.valid ? LAST_VALID : 0),
			1);
	common_write_varint(record, tally->first.ip);
	common_write_le(record, tally->last.kind, 1);
	common_write_varint(record, tally->last.next_ip);
}

void analysis_branch_tally_read(struct analysis_branch_tally *tally, struct common_cursor *record)
{
	unsigned flags;

	tally->taken = common_read_varint(record);
	tally->not_taken = common_read_varint(record);
	flags = common_read8(record);
	tally->first.valid = flags & FIRST_VALID;
	tally->first.known = flags & FIRST_KNOWN;
	tally->last.valid = flags & LAST_VALID;
	tally->first.ip = common_read_varint(record);
	tally->last.kind = common_read8(record);
	tally->last.next_ip = common_read_varint(record);
	record->failed |= (flags & ~(FIRST_VALID | FIRST_KNOWN | LAST_VALID)) != 0;
}

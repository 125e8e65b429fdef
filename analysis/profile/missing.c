/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up gaps, by cause. */
#include "analysis/profile/missing.h"

int analysis_missing_add_gap(struct analysis_missing *missing, const struct flow_segment *segment,
			     const struct flow_event *event)
{
	missing->gaps++;
	missing->gap_causes[event->cause]++;
	missing->gap_bytes[event->cause] += event->size;
	return analysis_gap_list_add(&missing->list, ANALYSIS_MISSING_LISTED, segment, event);
}

int analysis_missing_join(struct analysis_missing *missing, const struct analysis_missing *more)
{
	missing->pt_bytes += more->pt_bytes;
	missing->gaps += more->gaps;
	for (unsigned cause = 0; cause < FLOW_GAP_COUNT; cause++) {
		missing->gap_causes[cause] += more->gap_causes[cause];
		missing->gap_bytes[cause] += more->gap_bytes[cause];
	}
	return analysis_gap_list_join(&missing->list, ANALYSIS_MISSING_LISTED, &more->list);
}

void analysis_missing_write(const struct analysis_missing *missing, struct ptl_bytes *record)
{
	common_write_varint(record, missing->pt_bytes);
	common_write_varint(record, missing->gaps);
	for (unsigned cause = 1; missing->gaps && cause < FLOW_GAP_COUNT; cause++) {
		common_write_varint(record, missing->gap_causes[cause]);
		common_write_varint(record, missing->gap_bytes[cause]);
	}
	analysis_gap_list_write(&missing->list, record);
}

int analysis_missing_read(struct analysis_missing *missing, const struct flow_segment *segment,
			  struct common_cursor *record)
{
	missing->pt_bytes = common_read_varint(record);
	missing->gaps = common_read_varint(record);
	for (unsigned cause = 1; missing->gaps && cause < FLOW_GAP_COUNT; cause++) {
		missing->gap_causes[cause] = common_read_varint(record);
		missing->gap_bytes[cause] = common_read_varint(record);
	}
	return analysis_gap_list_read(&missing->list, ANALYSIS_MISSING_LISTED, segment, record);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures what is missing: by the sums of the flow, the profile of its blocks, and reports of the reader. */
#include "analysis/lint/lint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lint/missing_image.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "flow/symbol/symbol.h"
#include "format/metadata/metadata.h"
#include "format/reader/damage.h"

struct measuring {
	const struct analysis_input *input;
	const struct flow_timeline *timeline;
	struct analysis_lint *lint;
	struct ptl_bytes text; /* text of the current finding */
};

/* Adds a finding with the contents of measuring->text. */
int analysis_lint_add(struct analysis_lint *lint, unsigned check, const char *finding)
{
	char *text = strdup(finding);

	if (!text || !common_vector_room(&lint->findings, lint->count, sizeof(*lint->findings))) {
		free(text);
		return common_fail_memory("findings", lint->count * sizeof(*lint->findings));
	}
	lint->findings[lint->count++] = (struct analysis_lint_finding){check, text};
	return 0;
}

static int add_finding(struct measuring *measuring, unsigned check)
{
	int status;

	if (measuring->text.failed)
		return common_fail_memory("findings", measuring->text.size);
	status = analysis_lint_add(measuring->lint, check, common_text_string(&measuring->text));
	measuring->text.size = 0;
	return status;
}

/* ---- flow ---------------------------------------------------------------------------------------- */

static void measure_gaps(struct analysis_lint *lint, const struct analysis_missing *missing)
{
	uint64_t bytes = 0;

	for (unsigned cause = 1; cause < FLOW_GAP_COUNT; cause++) {
		lint->values[ANALYSIS_LINT_GAP_CAUSES + cause - 1].number = missing->gap_causes[cause];
		bytes += missing->gap_bytes[cause];
	}
	lint->values[ANALYSIS_LINT_GAPS].number = missing->gaps;
	lint->values[ANALYSIS_LINT_DECODED] = (struct analysis_lint_value){
		.number = bytes < missing->pt_bytes ? missing->pt_bytes - bytes : 0, .of = missing->pt_bytes};
}

/* Lists the first gaps, ordered by stream. */
static int find_gaps(struct measuring *measuring, const struct analysis_missing *missing)
{
	const uint64_t start = ptl_trace_machine(measuring->input->trace)->start_time;
	struct ptl_bytes *text = &measuring->text;
	int status = 0;

	for (size_t i = 0; !status && i < missing->list.count; i++) {
		const struct analysis_gap *gap = &missing->list.gaps[i];

		common_text_format(text, "%s: stream %" PRIu32 ", offset 0x%" PRIx64 ", ",
				   flow_gap_cause_name(gap->event.cause), gap->stream, gap->event.offset);
		common_text_size(text, gap->event.size);
		if (gap->event.time) {
			common_text_add(text, ", at ");
			common_text_milliseconds(text, gap->event.time, start);
			common_text_add(text, " ms");
		}
		if (gap->pid != PTL_NO_ID)
			common_text_format(text, ", process %" PRIu32, gap->pid);
		status = add_finding(measuring, ANALYSIS_LINT_GAP_CAUSES + gap->event.cause - 1);
	}
	return status;
}

static int find_unknown(struct measuring *measuring, const struct analysis_unmapped *range)
{
	struct ptl_bytes *text = &measuring->text;
	size_t before;

	if (range->pid != PTL_NO_ID)
		common_text_format(text, "process %" PRIu32 ", ", range->pid);
	common_text_format(text, "0x%" PRIx64 "..0x%" PRIx64 ": ", range->first, range->last);
	common_text_count(text, range->gaps);
	common_text_add(text, range->gaps == 1 ? " gap, " : " gaps, ");
	common_text_size(text, range->gap_bytes);
	common_text_add(text, " not decoded");
	before = text->size;
	common_text_add(text, "; likely ");
	analysis_text_missing_image(text, measuring->timeline, range);
	if (text->size == before + strlen("; likely "))
		text->size = before;
	return add_finding(measuring, ANALYSIS_LINT_UNKNOWN_CODE);
}

static int measure_unknown(struct measuring *measuring)
{
	struct analysis_unmapped_list list;
	uint64_t *count = &measuring->lint->values[ANALYSIS_LINT_UNKNOWN_CODE].number;
	int status = analysis_unmapped_run(measuring->input->trace, measuring->timeline, &measuring->input->view, true,
					   &list);

	if (status)
		return status;
	for (size_t i = 0; !status && i < list.count; i++) {
		if (list.ranges[i].has_code)
			continue;
		if (++*count <= ANALYSIS_LINT_SHOWN)
			status = find_unknown(measuring, &list.ranges[i]);
	}
	analysis_unmapped_free(&list);
	return status;
}

/* ---- code without names -------------------------------------------------------------------------- */

struct unresolved {
	const struct analysis_content *content;
	uint64_t instructions;
};

static int by_instructions(const void *a_, const void *b_)
{
	const struct unresolved *a = a_, *b = b_;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return a->content < b->content ? -1 : a->content > b->content;
}

static int find_unresolved(struct measuring *measuring, struct unresolved *list, size_t count)
{
	const uint64_t all = measuring->lint->values[ANALYSIS_LINT_UNRESOLVED].of;
	struct ptl_bytes *text = &measuring->text;
	int status = 0;

	if (count)
		qsort(list, count, sizeof(*list), by_instructions);
	for (size_t i = 0; !status && i < count && i < ANALYSIS_LINT_SHOWN && list[i].instructions; i++) {
		common_text_safe(text, list[i].content->path);
		if (list[i].content->build_id_size) {
			common_text_add(text, ", build id ");
			common_text_hex_bytes(text, list[i].content->build_id, list[i].content->build_id_size);
		}
		common_text_add(text, ": ");
		common_text_count(text, list[i].instructions);
		common_text_add(text, " instructions (");
		common_text_share(text, list[i].instructions, all);
		common_text_add(text, ") in no function that is known");
		status = add_finding(measuring, ANALYSIS_LINT_UNRESOLVED);
	}
	return status;
}

static bool is_named(const struct analysis_profile *profile, const struct analysis_profile_block *block)
{
	return block->content != FLOW_NONE && strcmp(profile->contents[block->content].path, "//anon") != 0;
}

static void count_block(struct measuring *measuring, const struct analysis_profile *profile,
			const struct analysis_profile_block *block, struct flow_symbols *symbols,
			struct unresolved *list)
{
	const uint64_t instructions = block->count * block->instructions;
	struct analysis_lint_value *values = measuring->lint->values;
	const struct flow_timeline_image *image;
	struct flow_symbol symbol;

	if (!is_named(profile, block))
		values[ANALYSIS_LINT_OUTSIDE_IMAGES].number += instructions;
	if (block->content == FLOW_NONE) {
		values[ANALYSIS_LINT_UNRESOLVED].number += instructions;
		return;
	}
	image = flow_timeline_image(measuring->timeline, block->image);
	if (flow_symbols_find(symbols, block->image, block->address - image->data.default_base + image->data.base,
			      &symbol))
		return;
	values[ANALYSIS_LINT_UNRESOLVED].number += instructions;
	list[block->content].instructions += instructions;
}

static int count_names(struct measuring *measuring, const struct analysis_profile *profile,
		       struct flow_symbols *symbols)
{
	struct unresolved *list = calloc(profile->content_count + 1, sizeof(*list));
	int status;

	if (!list)
		return common_fail_memory("images", profile->content_count * sizeof(*list));
	for (size_t i = 0; i < profile->content_count; i++)
		list[i].content = &profile->contents[i];
	measuring->lint->values[ANALYSIS_LINT_OUTSIDE_IMAGES].of = profile->instructions;
	measuring->lint->values[ANALYSIS_LINT_UNRESOLVED].of = profile->instructions;
	for (size_t i = 0; i < profile->block_count; i++)
		count_block(measuring, profile, &profile->blocks[i], symbols, list);
	status = find_unresolved(measuring, list, profile->content_count);
	free(list);
	return status;
}

static int measure_names(struct measuring *measuring, const struct analysis_profile *profile)
{
	struct flow_symbols *symbols = NULL;
	int status = flow_symbols_open(measuring->input->trace, measuring->timeline, true, &symbols);

	if (!status)
		status = count_names(measuring, profile, symbols);
	flow_symbols_close(symbols);
	return status;
}

/* Decodes the selected flow once, and a second time to locate missing code if a gap has this cause. */
static int measure_flow(struct measuring *measuring)
{
	struct analysis_profile profile;
	int status = analysis_profile_run(measuring->input->trace, measuring->timeline, &measuring->input->view, false,
					  &profile);

	if (status)
		return status;
	measure_gaps(measuring->lint, &profile.missing);
	status = find_gaps(measuring, &profile.missing);
	if (!status && profile.missing.gap_causes[FLOW_GAP_CODE])
		status = measure_unknown(measuring);
	if (!status)
		status = measure_names(measuring, &profile);
	analysis_profile_free(&profile);
	return status;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static int measure_losses(struct measuring *measuring)
{
	const struct ptl_trace *trace = measuring->input->trace;
	struct analysis_lint_value *value = &measuring->lint->values[ANALYSIS_LINT_LOSSES];
	struct ptl_bytes *text = &measuring->text;
	int status = 0;

	for (size_t i = 0; !status && i < ptl_loss_count(trace); i++) {
		const struct ptl_loss *loss = ptl_loss_at(trace, i);

		/* Data removed on purpose is no loss, and neither are records about perf's own work. */
		if (loss->kind == PTL_LOSS_CUT || loss->kind == PTL_LOSS_LEFT_OUT)
			continue;
		if (++value->number > ANALYSIS_LINT_SHOWN)
			continue;
		common_text_format(text, "%s: ", format_loss_name(loss->kind));
		common_text_count(text, loss->count);
		common_text_add(text, ", ");
		common_text_size(text, loss->bytes);
		if (loss->pid != PTL_NO_ID)
			common_text_format(text, ", process %" PRIu32, loss->pid);
		if (loss->cause && *loss->cause) {
			common_text_add(text, ": ");
			common_text_safe(text, loss->cause);
		}
		status = add_finding(measuring, ANALYSIS_LINT_LOSSES);
	}
	return status;
}

static int measure_damage(struct measuring *measuring)
{
	const struct ptl_trace *trace = measuring->input->trace;
	struct analysis_lint_value *value = &measuring->lint->values[ANALYSIS_LINT_DAMAGE];
	int status = 0;

	for (size_t i = 0; !status && i < ptl_damage_count(trace); i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);

		if (!format_damage_hurts(trace, damage))
			continue;
		if (++value->number > ANALYSIS_LINT_SHOWN)
			continue;
		common_text_format(&measuring->text, "offset %" PRIu64 ": ", damage->offset);
		common_text_safe(&measuring->text, damage->text);
		status = add_finding(measuring, ANALYSIS_LINT_DAMAGE);
	}
	return status;
}

/* Adds a finding for each unmatched rule in the provenance, one per line. */
static int measure_rules(struct measuring *measuring)
{
	const struct ptl_trace *trace = measuring->input->trace;
	struct analysis_lint_value *value = &measuring->lint->values[ANALYSIS_LINT_UNMATCHED_RULES];
	int status = 0;

	for (size_t i = 0; !status && i < ptl_provenance_count(trace); i++) {
		const char *line = ptl_provenance_at(trace, i)->unmatched;

		for (size_t size; !status && *line; line += size + (line[size] == '\n')) {
			size = strcspn(line, "\n");
			if (!size || ++value->number > ANALYSIS_LINT_SHOWN)
				continue;
			common_text_safe_n(&measuring->text, line, size);
			status = add_finding(measuring, ANALYSIS_LINT_UNMATCHED_RULES);
		}
	}
	return status;
}

/* Stable insertion sort by check: the list is short. */
static void sort_findings(struct analysis_lint *lint)
{
	for (size_t i = 1; i < lint->count; i++) {
		const struct analysis_lint_finding finding = lint->findings[i];
		size_t at = i;

		for (; at > 0 && lint->findings[at - 1].check > finding.check; at--)
			lint->findings[at] = lint->findings[at - 1];
		lint->findings[at] = finding;
	}
}

int analysis_lint_measure(const struct analysis_input *input, const struct flow_timeline *timeline, size_t broken_blobs,
			  struct analysis_lint *lint)
{
	struct measuring measuring = {.input = input, .timeline = timeline, .lint = lint};
	int status;

	*lint = (struct analysis_lint){0};
	lint->values[ANALYSIS_LINT_INCOMPLETE].number = !ptl_trace_complete(input->trace);
	lint->values[ANALYSIS_LINT_BROKEN_BLOBS].number = broken_blobs;
	lint->values[ANALYSIS_LINT_SKIPPED_EVENTS].number = flow_timeline_skipped(timeline);
	status = measure_flow(&measuring);
	if (!status)
		status = measure_losses(&measuring);
	if (!status)
		status = measure_damage(&measuring);
	if (!status)
		status = measure_rules(&measuring);
	common_bytes_free(&measuring.text);
	sort_findings(lint);
	if (status < 0)
		analysis_lint_free(lint);
	return status;
}

void analysis_lint_free(struct analysis_lint *lint)
{
	for (size_t i = 0; i < lint->count; i++)
		free(lint->findings[i].text);
	free(lint->findings);
	*lint = (struct analysis_lint){0};
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump diff --first: the first difference in the path of each thread, with context. */
#include <inttypes.h>

#include "analysis/difference/diff_first.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/diff.h"
#include "dump/print/trace_json.h"

struct showing {
	struct dump_run *run;
	const struct analysis_diff *diff;
	const struct analysis_diff_first *first;
	struct ptl_bytes text;
};

static const struct analysis_diff_run *run_of(const struct showing *showing, unsigned side)
{
	return &showing->diff->runs[side ? showing->diff->first_count : 0];
}

static const struct analysis_diff_thread *thread_of(const struct showing *showing,
						    const struct analysis_diff_pair *pair, unsigned side)
{
	const size_t index = side ? pair->b : pair->a;

	return index == ANALYSIS_DIFF_NOBODY ? NULL : &showing->first->paths[side].threads[index];
}

/* Returns the displayed units before or after the difference. *from: index of the first unit. */
static size_t units_of(const struct showing *showing, const struct analysis_diff_pair *pair, unsigned side, bool behind,
		       size_t *from)
{
	const struct analysis_diff_thread *thread = thread_of(showing, pair, side);
	const uint64_t wanted = behind ? showing->first->after : showing->first->before;
	size_t count = behind ? thread->stretch_count - pair->at : pair->at;

	if (count > wanted)
		count = (size_t)wanted;
	*from = behind ? pair->at : pair->at - count;
	return count;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_id(struct ptl_bytes *text, uint32_t id)
{
	if (id == PTL_NO_ID)
		common_text_add(text, "-");
	else
		common_text_format(text, "%" PRIu32, id);
}

/* Prints "sort (process 1 of this name), thread worker (2 of this name): A pid 7 tid 9, B pid 11 tid 13". */
static void text_pair(struct showing *showing, const struct analysis_diff_pair *pair)
{
	const struct analysis_diff_thread *a = thread_of(showing, pair, 0), *b = thread_of(showing, pair, 1);
	const unsigned side = a ? 0 : 1;
	const struct analysis_diff_thread *one = a ? a : b;
	struct ptl_bytes *text = &showing->text;

	text->size = 0;
	common_text_add(text, dump_bold(showing->run));
	common_text_safe(text, analysis_diff_process_name(run_of(showing, side), one));
	common_text_add(text, dump_plain(showing->run));
	common_text_format(text, " (process %zu of this name), thread ", pair->process_order + 1);
	common_text_safe(text, analysis_diff_thread_name(run_of(showing, side), one));
	common_text_format(text,
			   "%s(%zu of this name): ", *analysis_diff_thread_name(run_of(showing, side), one) ? " " : "",
			   pair->thread_order + 1);
	for (unsigned i = 0; i < 2; i++) {
		const struct analysis_diff_thread *thread = i ? b : a;

		common_text_add(text, i ? ", B " : "A ");
		if (!thread) {
			common_text_add(text, "has none");
			continue;
		}
		common_text_add(text, "pid ");
		add_id(text, thread->pid);
		common_text_add(text, " tid ");
		add_id(text, thread->tid);
	}
	common_text_add(text, "\n");
	common_text_write(text, showing->run->out);
}

static void text_place(struct showing *showing, const char *label, const struct analysis_diff_run *run,
		       const struct analysis_diff_unit *unit, bool last)
{
	struct ptl_bytes *text = &showing->text;

	text->size = 0;
	common_text_format(text, "  %-8s ", label);
	if (unit->key == ANALYSIS_DIFF_GAP)
		common_text_format(text, "(gap: %s)", flow_gap_cause_name((uint8_t)unit->first));
	else
		analysis_diff_place(run, unit->image, last ? unit->last_ip : unit->ip, text);
	common_text_add(text, "\n");
	common_text_write(text, showing->run->out);
}

static void text_units(struct showing *showing, const struct analysis_diff_pair *pair, unsigned side, bool behind)
{
	const struct analysis_diff_thread *thread = thread_of(showing, pair, side);
	size_t from, count = units_of(showing, pair, side, behind, &from);

	for (size_t i = from; i < from + count; i++)
		text_place(showing, behind ? (side ? "B" : "A") : "both", run_of(showing, side), &thread->stretch[i],
			   false);
	if (!behind && count)
		text_place(showing, "branch", run_of(showing, side), &thread->stretch[from + count - 1], true);
	if (behind && !count)
		fprintf(showing->run->out, "  %-8s (nothing: it ended)\n", side ? "B" : "A");
}

/* Appends how many branches were not compared. */
static void add_waiting(const struct analysis_diff_thread *a, const struct analysis_diff_thread *b,
			struct ptl_bytes *text)
{
	if (!a->waiting && !b->waiting)
		return;
	common_text_add(text, " (and in functions that wait, which are not compared, ");
	common_text_count(text, a->waiting);
	common_text_add(text, " of A, ");
	common_text_count(text, b->waiting);
	common_text_add(text, " of B)");
}

static void show_text(struct showing *showing, const struct analysis_diff_pair *pair)
{
	struct ptl_bytes *text = &showing->text;

	text_pair(showing, pair);
	if (!thread_of(showing, pair, 0) || !thread_of(showing, pair, 1))
		return;
	text->size = 0;
	common_text_add(text, pair->differs ? "  part after " : "  are equal: ");
	common_text_count(text, pair->common);
	common_text_add(text, " branches");
	add_waiting(thread_of(showing, pair, 0), thread_of(showing, pair, 1), text);
	common_text_add(text, "\n");
	common_text_write(text, showing->run->out);
	if (!pair->differs)
		return;
	text_units(showing, pair, 0, false);
	text_units(showing, pair, 0, true);
	text_units(showing, pair, 1, true);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_unit(struct showing *showing, const char *key, const struct analysis_diff_run *run,
		      const struct analysis_diff_unit *unit, bool last)
{
	struct common_json *json = &showing->run->json_out;

	common_json_object(json, key);
	if (unit->key == ANALYSIS_DIFF_GAP) {
		common_json_string(json, "gap", flow_gap_cause_name((uint8_t)unit->first));
	} else {
		analysis_diff_json_place(run, unit->image, last ? unit->last_ip : unit->ip, json, &showing->text);
		common_json_string(json, "branch", flow_branch_name(unit->branch));
	}
	common_json_object_end(json);
}

static void json_units(struct showing *showing, const char *key, const struct analysis_diff_pair *pair, unsigned side,
		       bool behind)
{
	const struct analysis_diff_thread *thread = thread_of(showing, pair, side);
	struct common_json *json = &showing->run->json_out;
	size_t from, count = units_of(showing, pair, side, behind, &from);

	common_json_array(json, key);
	for (size_t i = from; i < from + count; i++)
		json_unit(showing, NULL, run_of(showing, side), &thread->stretch[i], false);
	common_json_array_end(json);
	if (!behind && count)
		json_unit(showing, "parting", run_of(showing, side), &thread->stretch[from + count - 1], true);
}

static void json_thread(struct showing *showing, const char *key, const struct analysis_diff_thread *thread)
{
	struct common_json *json = &showing->run->json_out;

	if (!thread) {
		common_json_null(json, key);
		return;
	}
	common_json_object(json, key);
	dump_json_id_or_null(json, "pid", thread->pid);
	dump_json_id_or_null(json, "tid", thread->tid);
	common_json_u64(json, "branches", thread->units);
	common_json_u64(json, "waiting", thread->waiting);
	common_json_object_end(json);
}

static void show_json(struct showing *showing, const struct analysis_diff_pair *pair)
{
	const struct analysis_diff_thread *a = thread_of(showing, pair, 0), *b = thread_of(showing, pair, 1);
	struct common_json *json = &showing->run->json_out;
	const unsigned side = a ? 0 : 1;

	common_json_object(json, NULL);
	common_json_string(json, "process", analysis_diff_process_name(run_of(showing, side), a ? a : b));
	common_json_u64(json, "process_number", pair->process_order + 1);
	common_json_string(json, "thread", analysis_diff_thread_name(run_of(showing, side), a ? a : b));
	common_json_u64(json, "thread_number", pair->thread_order + 1);
	json_thread(showing, "a", a);
	json_thread(showing, "b", b);
	common_json_bool(json, "equal", !pair->differs);
	if (a && b)
		common_json_u64(json, "common", pair->common);
	if (a && b && pair->differs) {
		json_units(showing, "before", pair, 0, false);
		json_units(showing, "then_a", pair, 0, true);
		json_units(showing, "then_b", pair, 1, true);
	}
	common_json_object_end(json);
	common_json_line(json);
}

int dump_diff_show_first(struct dump_run *run, struct analysis_diff *diff, uint64_t context)
{
	/* The unit before the difference shows the branch where the paths diverge, so at least one unit is needed. */
	struct analysis_diff_first first = {.before = context ? context : 1, .after = context ? context : 1};
	struct showing showing = {.run = run, .diff = diff, .first = &first};
	int status = analysis_diff_find_first(diff, &first);
	bool differs = false;

	common_progress_end();
	for (size_t i = 0; !status && i < first.count; i++) {
		const struct analysis_diff_pair *pair = &first.pairs[i];

		differs |= pair->differs;
		if (run->options->json)
			show_json(&showing, pair);
		else
			show_text(&showing, pair);
		status = showing.text.failed ? common_fail_memory("a line", showing.text.size) : dump_output_check(run);
	}
	if (!status && differs)
		status = COMMON_EXIT_FINDING;
	common_bytes_free(&showing.text);
	analysis_diff_first_free(&first);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump info: origin and contents of a trace file, and missing parts. */
#include <inttypes.h>
#include <string.h>

#include "common/plural.h"
#include "common/text/quote.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/command/info.h"
#include "dump/crash/brief.h"
#include "dump/print/status.h"
#include "dump/print/table.h"
#include "format/metadata/input_hash.h"
#include "format/metadata/metadata.h"
#include "format/reader/damage.h"

#define LABEL_WIDTH 16

/* ---- text ---------------------------------------------------------------------------------------- */

static const struct dump_info_options *options_of(const struct dump_run *run)
{
	return (const struct dump_info_options *)run->options;
}

struct page {
	struct dump_run *run;
	const struct ptl_trace *trace;
	struct ptl_bytes text; /* the current value */
};

/* Prints a label and page->text as its value, and empties page->text. */
static void put_label(struct page *page, const char *label)
{
	fprintf(page->run->out, "%s%-*s%s  %s\n", dump_dim(page->run), LABEL_WIDTH, label, dump_plain(page->run),
		common_text_string(&page->text));
	page->text.size = 0;
}

static void put_words(struct page *page, const char *label, const char *words)
{
	common_text_safe(&page->text, words);
	put_label(page, label);
}

static bool has_loss(const struct ptl_trace *trace, uint32_t kind)
{
	for (size_t i = 0; i < ptl_loss_count(trace); i++)
		if (ptl_loss_at(trace, i)->kind == kind)
			return true;
	return false;
}

static const char *completeness(const struct ptl_trace *trace)
{
	if (!ptl_trace_complete(trace))
		return "NO: it has no index; its writer was stopped, or is still at work";
	if (has_loss(trace, PTL_LOSS_BUFFERS))
		return "NO: buffers are missing; LOST below tells which, and why";
	if (has_loss(trace, PTL_LOSS_END))
		return "yes, up to the end of the recording, which was before the end of what was recorded";
	return "yes";
}

static void put_file(struct page *page, const struct dump_trace_sizes *sizes)
{
	uint16_t major, minor;

	ptl_trace_version(page->trace, &major, &minor);
	put_words(page, "file", page->run->path);
	common_text_format(&page->text, "PTL %u.%u", major, minor);
	put_label(page, "format");
	put_words(page, "complete", completeness(page->trace));
	common_text_size(&page->text, sizes->file);
	common_text_add(&page->text, ", of ");
	common_text_size(&page->text, sizes->raw);
	common_text_add(&page->text, " before compression (stored ");
	common_text_share(&page->text, sizes->stored, sizes->raw);
	common_text_add(&page->text, ")");
	put_label(page, "size");
}

static void put_machine(struct page *page)
{
	const struct ptl_machine *machine = ptl_trace_machine(page->trace);
	struct ptl_bytes *text = &page->text;

	common_text_safe(text, *machine->source ? machine->source : "unknown");
	common_text_add(text, machine->software ? ": packets were made by software" : "");
	common_text_add(text, machine->redacted ? ", redacted" : "");
	put_label(page, "source");
	if (*machine->hostname || *machine->kernel) {
		const char *const words[] = {machine->hostname, machine->kernel, machine->architecture};

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			common_text_add(text, text->size && *words[i] ? ", " : "");
			common_text_safe(text, words[i]);
		}
		if (machine->cpus)
			common_text_format(text, ", %" PRIu32 " CPUs", machine->cpus);
		put_label(page, "machine");
	}
	common_text_safe(text, *machine->cpu_name ? machine->cpu_name : "unknown");
	if (machine->vendor || machine->family)
		common_text_format(text, " (family %u, model %u, stepping %u)", machine->family, machine->model,
				   machine->stepping);
	if (machine->mode)
		common_text_format(text, ", %u-bit code", machine->mode);
	put_label(page, "processor");
}

/* Prints the further machines of a merged trace. */
static void put_machines(struct page *page)
{
	struct ptl_bytes *text = &page->text;
	char name[32];

	for (size_t i = 1; i < ptl_machine_count(page->trace); i++) {
		const struct ptl_machine *machine = ptl_machine_at(page->trace, i);

		if (!machine)
			continue;
		common_text_safe(text, *machine->hostname ? machine->hostname : machine->source);
		common_text_format(text, ", processes from %zu, times shifted by %+.9f s", i * PTL_MACHINE_IDS,
				   (double)machine->time_shift / 1e9);
		if (machine->shift_uncertainty == UINT64_MAX)
			common_text_add(text, ", for all that is known of its clock");
		else if (machine->shift_uncertainty) {
			common_text_add(text, " +/- ");
			common_text_duration(text, machine->shift_uncertainty);
		}
		snprintf(name, sizeof(name), "machine %zu", i);
		put_label(page, name);
	}
}

static void put_clock(struct page *page)
{
	const struct ptl_machine *machine = ptl_trace_machine(page->trace);
	struct ptl_bytes *text = &page->text;

	common_text_add(text, dump_clock_name(machine->clock));
	if (machine->clock == PTL_CLOCK_VIRTUAL)
		common_text_add(text, ": counts instructions, one for a nanosecond");
	put_label(page, "clock");
	if (machine->wall_start) {
		common_text_wall_time(text, machine->wall_start);
		if (machine->wall_uncertainty) {
			common_text_add(text, " +/- ");
			common_text_duration(text, machine->wall_uncertainty);
		}
		put_label(page, "started");
	}
	if (machine->end_time > machine->start_time) {
		common_text_duration(text, machine->end_time - machine->start_time);
		put_label(page, "duration");
	}
	if (machine->tsc_frequency) {
		common_text_format(text, "%.3f MHz", (double)machine->tsc_frequency / 1e6);
		put_label(page, "tsc");
	}
}

static bool has_pt(const struct page *page, const struct ptl_machine *machine)
{
	for (size_t i = 0; i < ptl_stream_count(page->trace); i++)
		if (ptl_stream_at(page->trace, i)->kind == PTL_KIND_PT)
			return true;
	return machine->timing != PTL_TIMING_NONE || machine->psb_period;
}

static void put_pt(struct page *page)
{
	const struct ptl_machine *machine = ptl_trace_machine(page->trace);
	struct ptl_bytes *text = &page->text;

	if (!has_pt(page, machine))
		return;
	common_text_format(text, "timing %s, return compression %s", dump_timing_name(machine->timing),
			   machine->return_compression ? "on" : "off");
	if (machine->psb_period) {
		common_text_add(text, ", PSB every ");
		common_text_size(text, machine->psb_period);
	}
	if (machine->timing >= PTL_TIMING_MTC)
		common_text_format(text, ", MTCFreq %u, CTC ratio %" PRIu32 "/%" PRIu32, machine->mtc_frequency,
				   machine->ctc_numerator, machine->ctc_denominator);
	if (machine->timing == PTL_TIMING_CYC)
		common_text_format(text, ", CycThresh %u", machine->cyc_threshold);
	if (machine->nominal_ratio)
		common_text_format(text, ", nominal ratio %u", machine->nominal_ratio);
	put_label(page, "Intel PT");
}

static void title(struct page *page, const char *words)
{
	fprintf(page->run->out, "\n%s%s%s\n", dump_bold(page->run), words, dump_plain(page->run));
}

static void id_cell(struct dump_table *table, uint32_t id)
{
	if (id == UINT32_MAX)
		dump_cell(table, DUMP_STYLE_DIM, "-");
	else
		dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu32, id);
}

static int put_streams(struct page *page)
{
	static const struct dump_column columns[] = {
		{"STREAM", true}, {"KIND", false},   {"CPU", true},  {"PID", true},
		{"TID", true},    {"BUFFERS", true}, {"SIZE", true}, {"LOST BUFFERS", true},
	};
	struct dump_table table = {.columns = columns, .column_count = 8};
	const size_t count = ptl_stream_count(page->trace);
	char room[16];

	title(page, "streams");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_stream *stream = ptl_stream_at(page->trace, i);

		dump_cell_format(&table, DUMP_STYLE_PLAIN, "%" PRIu32, stream->id);
		dump_cell(&table, DUMP_STYLE_PLAIN, dump_kind_name(stream->kind, room));
		id_cell(&table, stream->cpu);
		id_cell(&table, stream->pid);
		id_cell(&table, stream->tid);
		common_text_count(&table.text, stream->buffers);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_size(&table.text, stream->bytes);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_count(&table.text, stream->lost);
		dump_cell_text(&table, stream->lost ? DUMP_STYLE_RED : DUMP_STYLE_PLAIN);
	}
	return dump_table_print(&table, page->run);
}

static int put_blobs(struct page *page)
{
	static const struct dump_column columns[] = {
		{"BLOBS", false}, {"COUNT", true}, {"SIZE", true}, {"STORED", true}};
	static const char *const names[] = {
		[PTL_BLOB_CODE] = "code",
		[PTL_BLOB_SYMBOLS] = "symbols",
		[PTL_BLOB_DEBUG] = "debug",
		[PTL_BLOB_FILE] = "files",
	};
	struct dump_table table = {.columns = columns, .column_count = 4};
	const size_t count = ptl_blob_count(page->trace);

	for (uint32_t type = 1; type < sizeof(names) / sizeof(names[0]); type++) {
		uint64_t blobs = 0, size = 0, stored = 0;

		for (size_t i = 0; i < count; i++) {
			const struct ptl_blob_info *info = ptl_blob_at(page->trace, i);

			if (info->type != type)
				continue;
			blobs++;
			size += info->size;
			stored += info->stored;
		}
		if (!blobs)
			continue;
		dump_cell(&table, DUMP_STYLE_PLAIN, names[type]);
		common_text_count(&table.text, blobs);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_size(&table.text, size);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_size(&table.text, stored);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	if (table.cell_count)
		fputc('\n', page->run->out);
	return dump_table_print(&table, page->run);
}

static int put_attachments(struct page *page)
{
	static const struct dump_column columns[] = {
		{"FILE", false}, {"PID", true}, {"SIZE", true}, {"WHAT IT IS", false}};
	static const char *const kinds[] = {
		[PTL_ATTACHMENT_JIT] = "names of code that was made at run time",
		[PTL_ATTACHMENT_SHARED] = "debug information that debug files share",
		[PTL_ATTACHMENT_SPLIT] = "split DWARF",
		[PTL_ATTACHMENT_SYMBOLS] = "symbols, by build id",
		[PTL_ATTACHMENT_DEBUG] = "debug information, by build id",
		[PTL_ATTACHMENT_PT_FILTER] = "address filter of Intel PT",
		[PTL_ATTACHMENT_JIT_TIMES] = "times of names of generated code",
	};
	struct dump_table table = {.columns = columns, .column_count = 4};
	const size_t count = ptl_attachment_count(page->trace);
	uint64_t sources = 0, source_bytes = 0;

	if (count)
		fputc('\n', page->run->out);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(page->trace, i);
		const struct ptl_blob_info *blob = ptl_blob_find(page->trace, attachment->hash);
		const bool known = attachment->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[attachment->kind];

		if (attachment->kind == PTL_ATTACHMENT_SOURCE) {
			sources++;
			source_bytes += blob ? blob->size : 0;
			continue;
		}
		dump_cell(&table, DUMP_STYLE_PLAIN, attachment->name);
		id_cell(&table, attachment->pid);
		if (blob)
			common_text_size(&table.text, blob->size);
		else
			common_text_add(&table.text, "not here");
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_PLAIN, known ? kinds[attachment->kind] : "unknown");
	}
	if (sources) {
		dump_cell(&table, DUMP_STYLE_PLAIN, "[source files]");
		id_cell(&table, PTL_NO_ID);
		common_text_size(&table.text, source_bytes);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_count(&table.text, sources);
		common_text_add(&table.text, " source files, by path (--json lists them)");
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	return dump_table_print(&table, page->run);
}

/* Whether one row can show both losses: all members but the times are equal. */
static bool is_same_loss(const struct ptl_loss *a, const struct ptl_loss *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->tid == b->tid &&
	       !strcmp(a->cause ? a->cause : "", b->cause ? b->cause : "");
}

/*
 * Merges consecutive losses with equal kind and cause into one row: an overloaded recorder reports a loss each second.
 */
static int put_losses(struct page *page)
{
	static const struct dump_column columns[] = {
		{"LOST", false}, {"PLACES", true}, {"COUNT", true},  {"BYTES", true},
		{"PID", true},   {"TID", true},    {"CAUSE", false},
	};
	struct dump_table table = {.columns = columns, .column_count = 7};
	const size_t count = ptl_loss_count(page->trace);

	if (count)
		fputc('\n', page->run->out);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_loss *loss = ptl_loss_at(page->trace, i);
		uint64_t lost = loss->count, bytes = loss->bytes, places = 1;

		for (; i + 1 < count && is_same_loss(loss, ptl_loss_at(page->trace, i + 1)); i++, places++) {
			lost += ptl_loss_at(page->trace, i + 1)->count;
			bytes += ptl_loss_at(page->trace, i + 1)->bytes;
		}
		dump_cell(&table, loss->kind == PTL_LOSS_LEFT_OUT ? DUMP_STYLE_PLAIN : DUMP_STYLE_RED,
			  format_loss_name(loss->kind));
		common_text_count(&table.text, places);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_count(&table.text, lost);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		common_text_count(&table.text, bytes);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		id_cell(&table, loss->pid);
		id_cell(&table, loss->tid);
		dump_cell(&table, DUMP_STYLE_PLAIN, loss->cause ? loss->cause : "");
	}
	return dump_table_print(&table, page->run);
}

static int put_damage(struct page *page)
{
	static const struct dump_column columns[] = {
		{"DAMAGED AT", true},
		{"BYTES", true},
		{"WHAT", false},
	};
	struct dump_table table = {.columns = columns, .column_count = 3};
	const size_t count = ptl_damage_count(page->trace);

	for (size_t i = 0; i < count; i++) {
		const struct ptl_damage *damage = ptl_damage_at(page->trace, i);

		if (!format_damage_hurts(page->trace, damage))
			continue;
		if (!table.cell_count)
			fputc('\n', page->run->out);
		dump_cell_format(&table, DUMP_STYLE_RED, "%" PRIu64, damage->offset);
		common_text_count(&table.text, damage->size);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_PLAIN, damage->text);
	}
	return dump_table_print(&table, page->run);
}

static void put_provenance(struct page *page)
{
	const size_t count = ptl_provenance_count(page->trace);
	char hash[COMMON_SHA256_TEXT_SIZE];

	if (count)
		title(page, "provenance");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_provenance *step = ptl_provenance_at(page->trace, i);

		common_text_safe(&page->text, step->tool);
		common_text_add(&page->text, " ");
		common_text_safe(&page->text, step->version);
		common_text_add(&page->text, "  ");
		common_text_wall_time(&page->text, step->wall_time);
		put_label(page, "made by");
		put_words(page, "  command", step->command);
		if (*step->rules)
			put_words(page, "  rules", step->rules);
		if (*step->unmatched)
			put_words(page, "  unmatched", step->unmatched);
		for (size_t k = 0; k < step->inputs; k++) {
			const char *kind = format_input_hash_format(&step->input[k], hash);

			common_text_safe(&page->text, step->input[k].name);
			common_text_format(&page->text, "  %" PRIu64 " bytes", step->input[k].size);
			if (kind)
				common_text_format(&page->text, "  %s %s", kind, hash);
			put_label(page, "  input");
		}
	}
}

static void put_count(struct ptl_bytes *text, size_t count, const char *what)
{
	common_text_count(text, count);
	common_text_format(text, count == 1 ? " %s" : " %ss", what);
}

/* Prints the result of --check, after the list of damage, which the check has completed. */
static void put_check(struct page *page, size_t broken_blobs)
{
	size_t damages = ptl_damage_count(page->trace);

	for (size_t i = ptl_damage_count(page->trace); i > 0; i--) {
		const struct ptl_damage *damage = ptl_damage_at(page->trace, i - 1);

		damages -= !format_damage_hurts(page->trace, damage);
	}
	fputc('\n', page->run->out);
	put_count(&page->text, ptl_buffer_count(page->trace), "buffer");
	common_text_add(&page->text, ", ");
	put_count(&page->text, ptl_blob_count(page->trace), "blob");
	common_text_add(&page->text, ": ");
	if (!damages && !broken_blobs)
		common_text_add(&page->text, "all sound");
	if (damages) {
		put_count(&page->text, damages, "place");
		common_text_add(&page->text, broken_blobs ? " damaged, " : " damaged");
	}
	if (broken_blobs) {
		put_count(&page->text, broken_blobs, "blob");
		common_text_add(&page->text, " not whole");
	}
	put_label(page, "checked");
}

/* Prints a line for each failed process, before all else. */
static int put_failures(struct page *page)
{
	struct dump_crash_brief brief = {0};
	int status = dump_crash_brief_quick(&brief, page->run);

	for (size_t i = 0; i < DUMP_CRASH_BRIEF_LINES && brief.lines[i]; i++) {
		common_text_add(&page->text, dump_red(page->run));
		common_text_add(&page->text, brief.lines[i]);
		common_text_add(&page->text, dump_plain(page->run));
		put_label(page, "failed");
	}
	if (brief.failures > DUMP_CRASH_BRIEF_LINES) {
		common_text_format(&page->text, "and %zu more " COMMON_PLURAL("process", "processes"),
				   brief.failures - DUMP_CRASH_BRIEF_LINES);
		put_label(page, "");
	}
	if (brief.failures) {
		common_text_add(&page->text, "ptl-dump crash ");
		common_quote_word(&page->text, page->run->path);
		put_label(page, "  try");
	}
	dump_crash_brief_free(&brief);
	return status;
}

static int show_text(struct dump_run *run, const struct dump_trace_sizes *sizes, size_t broken_blobs)
{
	struct page page = {.run = run, .trace = run->trace};
	int status = put_failures(&page);

	put_file(&page, sizes);
	put_machine(&page);
	put_machines(&page);
	put_clock(&page);
	put_pt(&page);
	if (status == 0)
		status = put_streams(&page);
	if (status == 0)
		status = put_blobs(&page);
	if (status == 0)
		status = put_attachments(&page);
	if (status == 0)
		status = put_losses(&page);
	if (status == 0)
		status = put_damage(&page);
	if (status == 0 && options_of(run)->check)
		put_check(&page, broken_blobs);
	if (status == 0)
		put_provenance(&page);
	common_bytes_free(&page.text);
	return status;
}

static struct dump_trace_sizes trace_sizes(const struct ptl_trace *trace)
{
	struct dump_trace_sizes sizes = {.file = ptl_trace_size(trace)};
	const size_t count = ptl_buffer_count(trace), blobs = ptl_blob_count(trace);

	for (size_t i = 0; i < count; i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		sizes.raw += buffer->raw_size;
		sizes.stored += buffer->stored_size;
	}
	for (size_t i = 0; i < blobs; i++)
		sizes.blobs += ptl_blob_at(trace, i)->size;
	return sizes;
}

static int info_run(struct dump_run *run)
{
	size_t broken_blobs = 0;
	struct dump_trace_sizes sizes;
	int status = options_of(run)->check ? dump_info_check(run, &broken_blobs) : 0;

	if (status < 0)
		return status;
	sizes = trace_sizes(run->trace);
	return run->options->json ? dump_info_json(run, &sizes, broken_blobs) : show_text(run, &sizes, broken_blobs);
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"check", 0, NULL, "Reads all of the file first, so that every damage is listed.",
	 COMMON_FLAG(struct dump_info_options, check)},
	{NULL},
};

const struct dump_command dump_command_info = {
	.name = "info",
	.summary = "what the file is, how it was made, what is missing",
	.details = "Shows what kind of trace a file is: format, machine, clock, Intel PT settings, "
		   "streams and their sizes, losses, damage, and who made it from what.",
	.examples = "ptl-dump info build.ptl\n"
		    "ptl-dump info --check build.ptl                 is any of it damaged?\n"
		    "ptl-dump info --json build.ptl | jq .complete\n"
		    "xz -dc old.ptl.xz | ptl-dump info -",
	.options = own_options,
	.lists_damage = true,
	.options_size = sizeof(struct dump_info_options),
	.run = info_run,
};

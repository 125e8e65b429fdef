/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump info --json: prints one object. */
#include "common/sha256.h"
#include "dump/command/info.h"
#include "dump/crash/brief.h"
#include "dump/print/trace_json.h"
#include "dump/run/run.h"
#include "format/metadata/input_hash.h"

static void put_machine(struct common_json *json, const struct ptl_machine *machine)
{
	common_json_object(json, "machine");
	common_json_string(json, "hostname", machine->hostname);
	common_json_string(json, "kernel", machine->kernel);
	common_json_string(json, "architecture", machine->architecture);
	common_json_u64(json, "cpus", machine->cpus);
	common_json_string(json, "cpu_name", machine->cpu_name);
	common_json_string(json, "vendor",
			   machine->vendor == PTL_VENDOR_INTEL   ? "intel"
			   : machine->vendor == PTL_VENDOR_OTHER ? "other"
								 : "unknown");
	common_json_u64(json, "family", machine->family);
	common_json_u64(json, "model", machine->model);
	common_json_u64(json, "stepping", machine->stepping);
	common_json_u64(json, "mode", machine->mode);
	common_json_object_end(json);
}

static void put_clock(struct common_json *json, const struct ptl_machine *machine)
{
	common_json_object(json, "clock");
	common_json_string(json, "name", dump_clock_name(machine->clock));
	common_json_u64(json, "start_time", machine->start_time);
	if (machine->end_time)
		common_json_u64(json, "end_time", machine->end_time);
	else
		common_json_null(json, "end_time");
	common_json_i64(json, "wall_start", machine->wall_start);
	common_json_u64(json, "wall_uncertainty", machine->wall_uncertainty);
	common_json_u64(json, "tsc_zero", machine->tsc_zero);
	common_json_u64(json, "tsc_multiplier", machine->tsc_multiplier);
	common_json_u64(json, "tsc_shift", machine->tsc_shift);
	common_json_u64(json, "tsc_frequency", machine->tsc_frequency);
	common_json_object_end(json);
}

static void put_pt(struct common_json *json, const struct ptl_machine *machine)
{
	common_json_object(json, "pt");
	common_json_string(json, "timing", dump_timing_name(machine->timing));
	common_json_bool(json, "return_compression", machine->return_compression);
	common_json_u64(json, "psb_period", machine->psb_period);
	common_json_u64(json, "mtc_frequency", machine->mtc_frequency);
	common_json_u64(json, "cyc_threshold", machine->cyc_threshold);
	common_json_u64(json, "ctc_numerator", machine->ctc_numerator);
	common_json_u64(json, "ctc_denominator", machine->ctc_denominator);
	common_json_u64(json, "nominal_ratio", machine->nominal_ratio);
	common_json_object_end(json);
}

static void put_streams(struct dump_run *run)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_stream_count(run->trace);
	char room[16];

	common_json_array(json, "streams");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_stream *stream = ptl_stream_at(run->trace, i);

		common_json_object(json, NULL);
		common_json_u64(json, "id", stream->id);
		common_json_string(json, "kind", dump_kind_name(stream->kind, room));
		dump_json_id(json, "cpu", stream->cpu);
		dump_json_id(json, "pid", stream->pid);
		dump_json_id(json, "tid", stream->tid);
		common_json_u64(json, "bytes", stream->bytes);
		common_json_u64(json, "buffers", stream->buffers);
		common_json_u64(json, "lost", stream->lost);
		dump_json_time(run, "first_time", stream->first_time);
		dump_json_time(run, "last_time", stream->last_time);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_blobs(struct dump_run *run)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_blob_count(run->trace);
	char hash[COMMON_SHA256_TEXT_SIZE];

	common_json_array(json, "blobs");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_blob_info *info = ptl_blob_at(run->trace, i);

		common_sha256_format(info->hash, hash);
		common_json_object(json, NULL);
		common_json_string(json, "sha256", hash);
		common_json_u64(json, "type", info->type);
		common_json_u64(json, "size", info->size);
		common_json_u64(json, "stored", info->stored);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_attachments(struct dump_run *run)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_attachment_count(run->trace);
	char hash[COMMON_SHA256_TEXT_SIZE];

	common_json_array(json, "attachments");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(run->trace, i);

		common_sha256_format(attachment->hash, hash);
		common_json_object(json, NULL);
		common_json_string(json, "name", attachment->name);
		common_json_u64(json, "kind", attachment->kind);
		dump_json_id(json, "pid", attachment->pid);
		common_json_string(json, "sha256", hash);
		dump_json_bytes(json, "id", attachment->id, attachment->id_size);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_inputs(struct common_json *json, const struct ptl_provenance *step)
{
	char hash[COMMON_SHA256_TEXT_SIZE];

	common_json_array(json, "inputs");
	for (size_t i = 0; i < step->inputs; i++) {
		const char *kind = format_input_hash_format(&step->input[i], hash);

		common_json_object(json, NULL);
		common_json_string(json, "name", step->input[i].name);
		common_json_u64(json, "size", step->input[i].size);
		if (kind)
			common_json_string(json, kind, hash);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_provenance(struct dump_run *run)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_provenance_count(run->trace);

	common_json_array(json, "provenance");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_provenance *step = ptl_provenance_at(run->trace, i);

		common_json_object(json, NULL);
		common_json_string(json, "tool", step->tool);
		common_json_string(json, "version", step->version);
		common_json_string(json, "command", step->command);
		common_json_i64(json, "wall_time", step->wall_time);
		common_json_string(json, "rules", step->rules);
		if (*step->unmatched)
			common_json_string(json, "unmatched", step->unmatched);
		put_inputs(json, step);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

/* Adds the further machines of a merged trace; no member for a single machine. */
static void put_machines(struct common_json *json, const struct ptl_trace *trace)
{
	if (ptl_machine_count(trace) == 1)
		return;
	common_json_array(json, "other_machines");
	for (size_t i = 1; i < ptl_machine_count(trace); i++) {
		const struct ptl_machine *machine = ptl_machine_at(trace, i);

		if (!machine)
			continue;
		common_json_object(json, NULL);
		common_json_u64(json, "index", i);
		common_json_u64(json, "first_id", i * PTL_MACHINE_IDS);
		common_json_string(json, "hostname", machine->hostname);
		common_json_string(json, "source", machine->source);
		common_json_i64(json, "time_shift", machine->time_shift);
		common_json_u64(json, "shift_uncertainty", machine->shift_uncertainty);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

/* Adds the sentences of failed processes; no member without a failure. */
static int put_failures(struct dump_run *run)
{
	struct common_json *json = &run->json_out;
	struct dump_crash_brief brief = {0};
	const int status = dump_crash_brief_quick(&brief, run);

	if (brief.failures) {
		common_json_u64(json, "failures", brief.failures);
		common_json_array(json, "failed");
		for (size_t i = 0; i < DUMP_CRASH_BRIEF_LINES && brief.lines[i]; i++)
			common_json_string(json, NULL, brief.lines[i]);
		common_json_array_end(json);
	}
	dump_crash_brief_free(&brief);
	return status;
}

int dump_info_json(struct dump_run *run, const struct dump_trace_sizes *sizes, size_t broken_blobs)
{
	const struct ptl_machine *machine = ptl_trace_machine(run->trace);
	struct common_json *json = &run->json_out;
	uint16_t major, minor;
	int status;

	ptl_trace_version(run->trace, &major, &minor);
	common_json_object(json, NULL);
	common_json_string(json, "file", run->path);
	common_json_u64(json, "version_major", major);
	common_json_u64(json, "version_minor", minor);
	common_json_bool(json, "complete", ptl_trace_complete(run->trace));
	common_json_u64(json, "size", sizes->file);
	common_json_u64(json, "raw_size", sizes->raw);
	common_json_u64(json, "stored_size", sizes->stored);
	common_json_string(json, "source", machine->source);
	common_json_bool(json, "software", machine->software);
	common_json_bool(json, "redacted", machine->redacted);
	put_machine(json, machine);
	put_machines(json, run->trace);
	put_clock(json, machine);
	put_pt(json, machine);
	put_streams(run);
	put_blobs(run);
	put_attachments(run);
	dump_json_losses(run, NULL);
	dump_json_damage(run, NULL);
	if (((const struct dump_info_options *)run->options)->check)
		common_json_u64(&run->json_out, "broken_blobs", broken_blobs);
	put_provenance(run);
	status = put_failures(run);
	common_json_object_end(json);
	common_json_line(json);
	return status;
}

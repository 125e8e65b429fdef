/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump info --json: one object. */
#include "common/sha256.h"
#include "dump/command/info.h"
#include "dump/command/session.h"
#include "format/metadata/input_hash.h"

static void put_machine(struct ptl_json *json, const struct ptl_machine *machine)
{
	ptl_json_object(json, "machine");
	ptl_json_string(json, "hostname", machine->hostname);
	ptl_json_string(json, "kernel", machine->kernel);
	ptl_json_string(json, "architecture", machine->architecture);
	ptl_json_u64(json, "cpus", machine->cpus);
	ptl_json_string(json, "cpu_name", machine->cpu_name);
	ptl_json_string(json, "vendor", machine->vendor == PTL_VENDOR_INTEL   ? "intel"
					: machine->vendor == PTL_VENDOR_OTHER ? "other"
									      : "unknown");
	ptl_json_u64(json, "family", machine->family);
	ptl_json_u64(json, "model", machine->model);
	ptl_json_u64(json, "stepping", machine->stepping);
	ptl_json_u64(json, "mode", machine->mode);
	ptl_json_object_end(json);
}

static void put_clock(struct ptl_json *json, const struct ptl_machine *machine)
{
	ptl_json_object(json, "clock");
	ptl_json_string(json, "name", dump_clock_name(machine->clock));
	ptl_json_u64(json, "start_time", machine->start_time);
	if (machine->end_time)
		ptl_json_u64(json, "end_time", machine->end_time);
	else
		ptl_json_null(json, "end_time");
	ptl_json_i64(json, "wall_start", machine->wall_start);
	ptl_json_u64(json, "wall_uncertainty", machine->wall_uncertainty);
	ptl_json_u64(json, "tsc_zero", machine->tsc_zero);
	ptl_json_u64(json, "tsc_multiplier", machine->tsc_multiplier);
	ptl_json_u64(json, "tsc_shift", machine->tsc_shift);
	ptl_json_u64(json, "tsc_frequency", machine->tsc_frequency);
	ptl_json_object_end(json);
}

static void put_pt(struct ptl_json *json, const struct ptl_machine *machine)
{
	ptl_json_object(json, "pt");
	ptl_json_string(json, "timing", dump_timing_name(machine->timing));
	ptl_json_bool(json, "return_compression", machine->return_compression);
	ptl_json_u64(json, "psb_period", machine->psb_period);
	ptl_json_u64(json, "mtc_frequency", machine->mtc_frequency);
	ptl_json_u64(json, "cyc_threshold", machine->cyc_threshold);
	ptl_json_u64(json, "ctc_numerator", machine->ctc_numerator);
	ptl_json_u64(json, "ctc_denominator", machine->ctc_denominator);
	ptl_json_u64(json, "nominal_ratio", machine->nominal_ratio);
	ptl_json_object_end(json);
}

static void put_id(struct ptl_json *json, const char *key, uint32_t id)
{
	if (id != UINT32_MAX)
		ptl_json_u64(json, key, id);
}

static void put_streams(struct dump_session *session)
{
	struct ptl_json *json = &session->json_out;
	const size_t count = ptl_stream_count(session->trace);
	char room[16];

	ptl_json_array(json, "streams");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_stream *stream = ptl_stream_at(session->trace, i);

		ptl_json_object(json, NULL);
		ptl_json_u64(json, "id", stream->id);
		ptl_json_string(json, "kind", dump_kind_name(stream->kind, room));
		put_id(json, "cpu", stream->cpu);
		put_id(json, "pid", stream->pid);
		put_id(json, "tid", stream->tid);
		ptl_json_u64(json, "bytes", stream->bytes);
		ptl_json_u64(json, "buffers", stream->buffers);
		ptl_json_u64(json, "lost", stream->lost);
		dump_json_time(session, "first_time", stream->first_time);
		dump_json_time(session, "last_time", stream->last_time);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

static void put_blobs(struct dump_session *session)
{
	struct ptl_json *json = &session->json_out;
	const size_t count = ptl_blob_count(session->trace);
	char hash[PTL_SHA256_TEXT_SIZE];

	ptl_json_array(json, "blobs");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_blob_info *info = ptl_blob_at(session->trace, i);

		ptl_sha256_format(info->hash, hash);
		ptl_json_object(json, NULL);
		ptl_json_string(json, "sha256", hash);
		ptl_json_u64(json, "type", info->type);
		ptl_json_u64(json, "size", info->size);
		ptl_json_u64(json, "stored", info->stored);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

static void put_losses(struct dump_session *session)
{
	struct ptl_json *json = &session->json_out;
	const size_t count = ptl_loss_count(session->trace);

	ptl_json_array(json, "losses");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_loss *loss = ptl_loss_at(session->trace, i);

		ptl_json_object(json, NULL);
		ptl_json_string(json, "kind", dump_loss_name(loss->kind));
		put_id(json, "stream", loss->stream);
		put_id(json, "pid", loss->pid);
		put_id(json, "tid", loss->tid);
		ptl_json_u64(json, "count", loss->count);
		ptl_json_u64(json, "bytes", loss->bytes);
		dump_json_time(session, "first_time", loss->first_time);
		dump_json_time(session, "last_time", loss->last_time);
		ptl_json_string(json, "cause", loss->cause);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

static void put_damage(struct dump_session *session)
{
	struct ptl_json *json = &session->json_out;
	const size_t count = ptl_damage_count(session->trace);

	ptl_json_array(json, "damage");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_damage *damage = ptl_damage_at(session->trace, i);

		ptl_json_object(json, NULL);
		ptl_json_u64(json, "offset", damage->offset);
		ptl_json_u64(json, "size", damage->size);
		ptl_json_string(json, "kind", ptl_status_name(damage->status));
		put_id(json, "stream", damage->stream);
		ptl_json_string(json, "text", damage->text);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

static void put_inputs(struct ptl_json *json, const struct ptl_provenance *step)
{
	char hash[PTL_SHA256_TEXT_SIZE];

	ptl_json_array(json, "inputs");
	for (size_t i = 0; i < step->inputs; i++) {
		const char *kind = ptl_input_hash_format(&step->input[i], hash);

		ptl_json_object(json, NULL);
		ptl_json_string(json, "name", step->input[i].name);
		ptl_json_u64(json, "size", step->input[i].size);
		if (kind)
			ptl_json_string(json, kind, hash);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

static void put_provenance(struct dump_session *session)
{
	struct ptl_json *json = &session->json_out;
	const size_t count = ptl_provenance_count(session->trace);

	ptl_json_array(json, "provenance");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_provenance *step = ptl_provenance_at(session->trace, i);

		ptl_json_object(json, NULL);
		ptl_json_string(json, "tool", step->tool);
		ptl_json_string(json, "version", step->version);
		ptl_json_string(json, "command", step->command);
		ptl_json_i64(json, "wall_time", step->wall_time);
		ptl_json_string(json, "rules", step->rules);
		put_inputs(json, step);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

/* The other machines of a merged trace; nothing where there is one. */
static void put_machines(struct ptl_json *json, const struct ptl_trace *trace)
{
	if (ptl_machine_count(trace) == 1)
		return;
	ptl_json_array(json, "other_machines");
	for (size_t i = 1; i < ptl_machine_count(trace); i++) {
		const struct ptl_machine *machine = ptl_machine_at(trace, i);

		if (!machine)
			continue;
		ptl_json_object(json, NULL);
		ptl_json_u64(json, "index", i);
		ptl_json_u64(json, "first_id", i * PTL_MACHINE_IDS);
		ptl_json_string(json, "hostname", machine->hostname);
		ptl_json_string(json, "source", machine->source);
		ptl_json_i64(json, "time_shift", machine->time_shift);
		ptl_json_u64(json, "shift_uncertainty", machine->shift_uncertainty);
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
}

int dump_info_json(struct dump_session *session, size_t broken_blobs)
{
	const struct ptl_machine *machine = ptl_trace_machine(session->trace);
	const struct dump_trace_sizes sizes = dump_trace_sizes(session->trace);
	struct ptl_json *json = &session->json_out;
	uint16_t major, minor;

	ptl_trace_version(session->trace, &major, &minor);
	ptl_json_object(json, NULL);
	ptl_json_string(json, "file", session->path);
	ptl_json_u64(json, "version_major", major);
	ptl_json_u64(json, "version_minor", minor);
	ptl_json_bool(json, "complete", ptl_trace_complete(session->trace));
	ptl_json_u64(json, "size", sizes.file);
	ptl_json_u64(json, "raw_size", sizes.raw);
	ptl_json_u64(json, "stored_size", sizes.stored);
	ptl_json_string(json, "source", machine->source);
	ptl_json_bool(json, "software", machine->software);
	ptl_json_bool(json, "redacted", machine->redacted);
	put_machine(json, machine);
	put_machines(json, session->trace);
	put_clock(json, machine);
	put_pt(json, machine);
	put_streams(session);
	put_blobs(session);
	put_losses(session);
	put_damage(session);
	if (((const struct dump_info_options *)session->options)->check)
		ptl_json_u64(&session->json_out, "broken_blobs", broken_blobs);
	put_provenance(session);
	ptl_json_object_end(json);
	ptl_json_line(json);
	return 0;
}

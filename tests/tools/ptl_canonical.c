/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints everything in a trace file as lines of text, through libptl. The lines equal those of
 * tests/reader/ptl_reader.py, an independent reader written from docs/format.md alone.
 *
 *     ptl_canonical [--ignore-index] FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/reader.h>

#include "common/sha256.h"

static void hex(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		printf("%02x", bytes[i]);
}

static const char *kind_name(int status)
{
	switch (status) {
	case PTL_NOT_OURS:
		return "not-ours";
	case PTL_UNSUPPORTED:
		return "unsupported";
	case PTL_CORRUPT:
		return "corrupt";
	case PTL_TRUNCATED:
		return "truncated";
	default:
		return "failed";
	}
}

static void fail(const char *what)
{
	fprintf(stderr, "ptl_canonical: %s: %s\n", what, ptl_error_text());
	exit(1);
}

/* ---- metadata ------------------------------------------------------------------------------------- */

static void text_field(int tag, const char *text)
{
	if (!*text)
		return;
	printf(" %d:x", tag);
	hex(text, strlen(text));
}

static void number_field(int tag, uint64_t number)
{
	if (number)
		printf(" %d:%" PRIu64, tag, number);
}

static void show_machine(const struct ptl_machine *m)
{
	printf("machine");
	text_field(1, m->source);
	number_field(2, m->software);
	number_field(3, m->redacted);
	text_field(4, m->hostname);
	text_field(5, m->kernel);
	text_field(6, m->architecture);
	number_field(7, m->cpus);
	text_field(8, m->cpu_name);
	number_field(9, m->vendor);
	number_field(10, m->family);
	number_field(11, m->model);
	number_field(12, m->stepping);
	number_field(13, m->mode);
	number_field(14, m->clock);
	number_field(15, m->start_time);
	number_field(16, m->end_time);
	if (m->wall_start)
		printf(" 17:%" PRId64, m->wall_start);
	number_field(18, m->wall_uncertainty);
	number_field(20, m->tsc_zero);
	number_field(21, m->tsc_multiplier);
	number_field(22, m->tsc_shift);
	number_field(23, m->tsc_frequency);
	number_field(24, m->timing);
	number_field(25, m->return_compression);
	number_field(26, m->psb_period);
	number_field(27, m->mtc_frequency);
	number_field(28, m->cyc_threshold);
	number_field(29, m->ctc_numerator);
	number_field(30, m->ctc_denominator);
	number_field(31, m->nominal_ratio);
	number_field(32, m->index);
	text_field(33, m->boot_id);
	number_field(34, m->pid_namespace);
	if (m->time_shift)
		printf(" 35:%" PRId64, m->time_shift);
	number_field(36, m->shift_uncertainty);
	number_field(37, m->guest_code);
	printf("\n");
}

static void text(const char *string)
{
	printf(" x");
	if (string)
		hex(string, strlen(string));
}

static void show_schema(const struct ptl_schema *schema)
{
	printf("schema ");
	hex(schema->provider.bytes, 16);
	printf(" %u %u %u", schema->id, schema->version, schema->opcode);
	text(schema->provider_name);
	text(schema->event_name);
	text(schema->task_name);
	text(schema->opcode_name);
	text(schema->message);
	printf(" %u %u %u %" PRIu64 " %u\n", schema->level, schema->channel, schema->task, schema->keyword,
	       schema->tags);
	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ptl_field *field = &schema->fields[i];

		printf("  field");
		text(field->name);
		printf(" %u %u %u %u %u", field->type, field->format, field->array, field->length, field->array_length);
		text(field->map);
		printf(" %u\n", field->tags);
	}
}

static void show_map(const struct ptl_map *map)
{
	printf("map ");
	hex(map->provider.bytes, 16);
	printf(" %u", map->kind);
	text(map->name);
	printf("\n");
	for (size_t i = 0; i < map->count; i++) {
		printf("  entry %" PRIu64, map->entries[i].value);
		text(map->entries[i].name);
		printf("\n");
	}
}

static void show_records(struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_schema_count(trace); i++)
		show_schema(ptl_schema_at(trace, i));
	for (size_t i = 0; i < ptl_map_count(trace); i++)
		show_map(ptl_map_at(trace, i));
	for (size_t i = 0; i < ptl_loss_count(trace); i++) {
		const struct ptl_loss *loss = ptl_loss_at(trace, i);

		printf("loss %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, loss->kind, loss->stream,
		       loss->pid, loss->tid, loss->count, loss->bytes, loss->first_time, loss->last_time);
		text(loss->cause);
		printf("\n");
	}
	for (size_t i = 0; i < ptl_provenance_count(trace); i++) {
		const struct ptl_provenance *step = ptl_provenance_at(trace, i);

		printf("provenance");
		text(step->tool);
		text(step->version);
		text(step->command);
		printf(" %" PRId64, step->wall_time);
		text(step->rules);
		printf("\n");
		for (size_t k = 0; k < step->inputs; k++) {
			printf("  input");
			text(step->input[k].name);
			printf(" %" PRIu64 " ", step->input[k].size);
			hex(step->input[k].hash, PTL_HASH_SIZE);
			printf("\n");
		}
	}
	for (size_t i = 0; i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		printf("attachment %u %u", attachment->kind, attachment->pid);
		text(attachment->name);
		printf(" ");
		hex(attachment->hash, PTL_HASH_SIZE);
		printf(" ");
		hex(attachment->id, attachment->id_size);
		printf("\n");
	}
}

/* ---- events --------------------------------------------------------------------------------------- */

static int show_value(void *context, const struct ptl_value *value)
{
	(void)context;
	printf("  ");
	hex(value->field->name, strlen(value->field->name));
	printf("[%u]=", value->index);
	switch (value->field->type) {
	case PTL_TYPE_STRUCT:
		printf("{}");
		break;
	case PTL_TYPE_I8:
	case PTL_TYPE_I16:
	case PTL_TYPE_I32:
	case PTL_TYPE_I64:
	case PTL_TYPE_WALL_TIME:
		printf("%" PRId64, value->i);
		break;
	case PTL_TYPE_U8:
	case PTL_TYPE_U16:
	case PTL_TYPE_U32:
	case PTL_TYPE_U64:
	case PTL_TYPE_BOOL8:
	case PTL_TYPE_BOOL32:
	case PTL_TYPE_POINTER:
	case PTL_TYPE_TIME:
		printf("%" PRIu64, value->u);
		break;
	default:
		printf("x");
		hex(value->bytes, value->size);
	}
	printf("\n");
	return 0;
}

static void guid(const struct ptl_event *event, uint32_t flag, const struct ptl_guid *value)
{
	printf(" ");
	if (event->flags & flag)
		hex(value->bytes, 16);
	else
		printf("-");
}

static int show_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_descriptor *d = &event->descriptor;
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	size_t rest;

	(void)context;
	printf("event %" PRIu64 " %u %u %u ", event->time, event->cpu, event->pid, event->tid);
	hex(d->provider.bytes, 16);
	printf(" %u %u %u %u %u %u %" PRIu64 " %u", d->id, d->version, d->channel, d->level, d->opcode, d->task,
	       d->keyword, event->flags);
	guid(event, PTL_EVENT_HAS_ACTIVITY, &event->activity);
	guid(event, PTL_EVENT_HAS_RELATED, &event->related);
	for (size_t i = 0; i < event->extended_count; i++) {
		printf(" ext:%u:", event->extended[i].type);
		hex(event->extended[i].data, event->extended[i].size);
	}
	printf(" payload:");
	hex(event->payload, event->payload_size);
	printf("\n");
	if (!schema)
		return 0;
	if (ptl_payload_decode(schema, event->payload, event->payload_size, show_value, NULL, &rest) < 0)
		printf("  stops\n");
	else
		printf("  rest %zu\n", rest);
	return 0;
}

/* ---- streams -------------------------------------------------------------------------------------- */

static void end_run(struct common_sha256 *hash, uint64_t from, uint64_t to)
{
	uint8_t digest[COMMON_SHA256_SIZE];

	if (from == to)
		return;
	common_sha256_finish(hash, digest);
	printf("  bytes %" PRIu64 " %" PRIu64 " ", from, to - from);
	hex(digest, sizeof(digest));
	printf("\n");
}

/* Reads pieces of an odd size, which cross the borders of buffers. */
static void show_bytes(struct ptl_trace *trace, uint32_t stream)
{
	struct common_sha256 *hash = common_sha256_new();
	uint64_t from = 0, at = 0, hole;
	uint8_t data[1009];
	size_t got;

	if (!hash)
		fail("no memory");
	for (;;) {
		if (ptl_stream_read(trace, stream, at, data, sizeof(data), &got, &hole) < 0)
			fail("cannot read a stream");
		common_sha256_add(hash, data, got);
		at += got;
		if (got)
			continue;
		end_run(hash, from, at);
		if (!hole)
			break;
		at += hole;
		from = at;
	}
	common_sha256_free(hash);
}

static void show_psbs(struct ptl_trace *trace, uint32_t stream)
{
	const struct ptl_psb *psbs;
	size_t count;

	if (ptl_psb_index(trace, stream, &psbs, &count) < 0)
		fail("cannot find PSBs");
	for (size_t i = 0; i < count; i++)
		printf("  psb %" PRIu64 " %" PRIu64 "\n", psbs[i].offset, psbs[i].time);
}

static void show_streams(struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *s = ptl_stream_at(trace, i);

		printf("stream %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->id,
		       s->kind, s->cpu, s->pid, s->tid, s->buffers, s->lost, s->bytes, s->first_time, s->last_time);
		if (s->kind == PTL_KIND_PT || s->kind == PTL_KIND_TRUTH)
			show_bytes(trace, s->id);
		if (s->kind == PTL_KIND_PT)
			show_psbs(trace, s->id);
	}
}

/* ---- blobs and damage ----------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
	const struct ptl_blob_info *const *left = a, *const *right = b;

	return memcmp((*left)->hash, (*right)->hash, PTL_HASH_SIZE);
}

static void show_blobs(struct ptl_trace *trace)
{
	const size_t count = ptl_blob_count(trace);
	const struct ptl_blob_info **blobs = calloc(count + 1, sizeof(*blobs));

	if (!blobs)
		fail("no memory");
	for (size_t i = 0; i < count; i++)
		blobs[i] = ptl_blob_at(trace, i);
	qsort(blobs, count, sizeof(*blobs), by_hash);
	for (size_t i = 0; i < count; i++) {
		uint8_t *data = NULL;
		size_t size;
		const int status = ptl_blob_read(trace, blobs[i]->hash, 256 << 20, &data, &size);

		printf("blob ");
		hex(blobs[i]->hash, PTL_HASH_SIZE);
		printf(" %u %" PRIu64 " %s\n", blobs[i]->type, blobs[i]->size, status ? "damaged" : "whole");
		if (!status)
			free(data);
	}
	free(blobs);
}

static int by_place(const void *a, const void *b)
{
	const struct ptl_damage *const *left = a, *const *right = b;

	if ((*left)->offset != (*right)->offset)
		return (*left)->offset < (*right)->offset ? -1 : 1;
	if ((*left)->size != (*right)->size)
		return (*left)->size < (*right)->size ? -1 : 1;
	return strcmp(kind_name((*left)->status), kind_name((*right)->status));
}

static void show_damage(struct ptl_trace *trace)
{
	const size_t count = ptl_damage_count(trace);
	const struct ptl_damage **list = calloc(count + 1, sizeof(*list));

	if (!list)
		fail("no memory");
	for (size_t i = 0; i < count; i++)
		list[i] = ptl_damage_at(trace, i);
	qsort(list, count, sizeof(*list), by_place);
	for (size_t i = 0; i < count; i++)
		printf("damage %" PRIu64 " %" PRIu64 " %s\n", list[i]->offset, list[i]->size,
		       kind_name(list[i]->status));
	free(list);
}

static void show(struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = show_event};
	uint16_t major, minor;
	struct ptl_guid id;
	int64_t wall_time;

	ptl_trace_version(trace, &major, &minor);
	ptl_trace_id(trace, &id, &wall_time);
	printf("file %u %u ", major, minor);
	hex(id.bytes, sizeof(id.bytes));
	printf(" %" PRId64 " %d\n", wall_time, ptl_trace_complete(trace));
	for (size_t i = 0; i < ptl_machine_count(trace); i++)
		if (ptl_machine_at(trace, i))
			show_machine(ptl_machine_at(trace, i));
	if (ptl_process(trace, NULL, &callbacks, NULL) < 0)
		fail("cannot read events");
	show_streams(trace);
	show_records(trace);
	show_blobs(trace);
	/* Reads the remaining buffers, so that the list of damage is complete. */
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		uint8_t *data;
		size_t size;

		if (ptl_buffer_read(trace, i, &data, &size) == 0)
			free(data);
	}
	show_damage(trace);
}

int main(int argc, char **argv)
{
	struct ptl_open_options options = {.size = sizeof(options),
					   .ignore_index = argc > 2 && !strcmp(argv[1], "--ignore-index")};
	struct ptl_trace *trace;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: ptl_canonical [--ignore-index] FILE\n");
		return 2;
	}
	status = ptl_open(argv[argc - 1], &options, &trace);
	if (status) {
		printf("error %s\n", kind_name(status));
		return 0;
	}
	show(trace);
	ptl_close(trace);
	return 0;
}

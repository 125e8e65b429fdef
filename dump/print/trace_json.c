/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/print/trace_json.h"

#include <string.h>

#include "common/text/text.h"
#include "dump/run/run.h"
#include "format/metadata/metadata.h"

void dump_json_id(struct common_json *json, const char *key, uint32_t id)
{
	if (id != PTL_NO_ID)
		common_json_u64(json, key, id);
}

void dump_json_id_or_null(struct common_json *json, const char *key, uint32_t id)
{
	if (id == PTL_NO_ID)
		common_json_null(json, key);
	else
		common_json_u64(json, key, id);
}

void dump_json_bytes(struct common_json *json, const char *key, const uint8_t *bytes, size_t size)
{
	struct ptl_bytes text = {0};

	common_text_hex_bytes(&text, bytes, size);
	if (size)
		common_json_string(json, key, common_text_string(&text));
	else
		common_json_null(json, key);
	common_bytes_free(&text);
}

static bool is_wanted_text(const struct dump_json_room *room, const char *text)
{
	return !room || room->has(room->context, strlen(text));
}

uint64_t dump_json_losses(struct dump_run *run, const struct dump_json_room *room)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_loss_count(run->trace);
	uint64_t left_out = 0;

	common_json_array(json, "losses");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_loss *loss = ptl_loss_at(run->trace, i);

		if (!is_wanted_text(room, loss->cause)) {
			left_out++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_string(json, "kind", format_loss_name(loss->kind));
		dump_json_id(json, "stream", loss->stream);
		dump_json_id(json, "pid", loss->pid);
		dump_json_id(json, "tid", loss->tid);
		common_json_u64(json, "count", loss->count);
		common_json_u64(json, "bytes", loss->bytes);
		dump_json_time(run, "first_time", loss->first_time);
		dump_json_time(run, "last_time", loss->last_time);
		common_json_string(json, "cause", loss->cause);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	return left_out;
}

uint64_t dump_json_damage(struct dump_run *run, const struct dump_json_room *room)
{
	struct common_json *json = &run->json_out;
	const size_t count = ptl_damage_count(run->trace);
	uint64_t left_out = 0;

	common_json_array(json, "damage");
	for (size_t i = 0; i < count; i++) {
		const struct ptl_damage *damage = ptl_damage_at(run->trace, i);

		if (!is_wanted_text(room, damage->text)) {
			left_out++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_u64(json, "offset", damage->offset);
		common_json_u64(json, "size", damage->size);
		common_json_string(json, "kind", ptl_status_name(damage->status));
		dump_json_id(json, "stream", damage->stream);
		common_json_string(json, "text", damage->text);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	return left_out;
}

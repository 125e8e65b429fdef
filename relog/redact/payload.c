/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies payloads, and redacts their strings. */
#include "relog/redact/payload.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf16.h"
#include "format/event/kernel_class.h"
#include "relog/redact/parts.h"

struct work {
	struct relog_redactor *redactor;
	const struct ptl_schema *schema;
	const struct ptl_event *event;
	bool kernel;
	bool (*hash)(void *context, uint8_t hash[PTL_HASH_SIZE]);
	void *context;
	size_t copied;          /* payload bytes copied to out */
	struct ptl_bytes *out;  /* NULL: only learn words */
	struct ptl_bytes plain; /* the current string as UTF-8 */
	struct ptl_bytes text;  /* the redacted string */
};

/* ---- kinds of fields ------------------------------------------------------------------------- */

static const struct {
	const char *field;
	enum relog_text_kind kind;
} kernel_fields[] = {
	{"FileName", RELOG_PATH},
	{"ImageFileName", RELOG_PATH},
	{"CommandLine", RELOG_COMMAND},
	{"ThreadName", RELOG_THREAD},
};

static bool is_named(const struct work *work, const struct ptl_value *value)
{
	const struct relog_texts *fields = &work->redactor->rules->fields;
	char name[512];
	bool named = false;

	if (!fields->count)
		return false;
	snprintf(name, sizeof(name), "%s/%s.%s", work->schema->provider_name ? work->schema->provider_name : "",
		 work->schema->event_name ? work->schema->event_name : "",
		 value->field->name ? value->field->name : "");
	for (size_t i = 0; i < fields->count; i++)
		if (fnmatch(fields->list[i].text, name, 0) == 0) {
			relog_rule_met(work->redactor, &fields->list[i]);
			named = true;
		}
	return named;
}

static enum relog_text_kind kind_of(const struct work *work, const struct ptl_value *value, const char *text)
{
	if (is_named(work, value))
		return RELOG_SECRET;
	for (size_t i = 0; work->kernel && i < sizeof(kernel_fields) / sizeof(kernel_fields[0]); i++)
		if (value->field->name && strcmp(value->field->name, kernel_fields[i].field) == 0)
			return kernel_fields[i].kind;
	return *text == '/' || relog_is_windows_path(text) ? RELOG_PATH : RELOG_TEXT;
}

/* ---- strings --------------------------------------------------------------------------------- */

static bool is_wide(const struct ptl_value *value)
{
	return value->field->type == PTL_TYPE_UTF16 || value->field->type == PTL_TYPE_UTF16_COUNTED;
}

static bool is_counted(const struct ptl_value *value)
{
	return value->field->type == PTL_TYPE_UTF8_COUNTED || value->field->type == PTL_TYPE_UTF16_COUNTED;
}

static bool is_string(const struct ptl_value *value)
{
	return value->field->type == PTL_TYPE_UTF8 || is_wide(value) || is_counted(value);
}

/* Copies the string to work->plain as UTF-8 with a terminating zero. Zero bytes within the string become spaces. */
static int take_plain(struct work *work, const struct ptl_value *value)
{
	work->plain.size = 0;
	if (is_wide(value))
		common_read_utf16_units(value->bytes, value->size / 2, &work->plain);
	else
		common_write_bytes(&work->plain, value->bytes, value->size);
	for (size_t i = 0; i < work->plain.size && !work->plain.failed; i++)
		if (!work->plain.data[i])
			work->plain.data[i] = ' ';
	common_write_bytes(&work->plain, "", 1);
	return work->plain.failed ? common_fail_memory("a string", value->size) : 0;
}

/* Copies the bytes of the payload before `offset` that were not copied yet. */
static void copy_up_to(struct work *work, size_t offset)
{
	common_write_bytes(work->out, work->event->payload + work->copied, offset - work->copied);
	work->copied = offset;
}

static int put_string(struct work *work, const struct ptl_value *value)
{
	const size_t offset = (size_t)(value->bytes - work->event->payload);
	struct ptl_bytes wide = {0};
	const uint8_t *data = work->text.data;
	size_t size = work->text.size - 1;

	if (is_wide(value)) {
		common_write_utf16(&wide, (const char *)work->text.data);
		if (wide.failed)
			return common_fail_memory("a string", size);
		data = wide.data;
		size = wide.size - 2;
	}
	if (is_counted(value)) {
		const size_t units = is_wide(value) ? size / 2 : size;

		copy_up_to(work, offset - 2);
		common_write_le(work->out, units > UINT16_MAX ? UINT16_MAX : units, 2);
		size = units > UINT16_MAX ? UINT16_MAX * (is_wide(value) ? 2u : 1u) : size;
	} else {
		copy_up_to(work, offset);
	}
	common_write_bytes(work->out, data, size);
	work->copied = offset + value->size;
	common_bytes_free(&wide);
	return 0;
}

static int visit_string(struct work *work, const struct ptl_value *value)
{
	enum relog_text_kind kind;
	int status = take_plain(work, value);

	if (status)
		return status;
	kind = kind_of(work, value, (const char *)work->plain.data);
	if (!work->out)
		return relog_redactor_learn(work->redactor, kind, (const char *)work->plain.data);
	work->text.size = 0;
	status = relog_redact_text(work->redactor, kind, (const char *)work->plain.data, &work->text);
	if (status ||
	    (work->text.size == work->plain.size && !memcmp(work->text.data, work->plain.data, work->text.size)))
		return status;
	return put_string(work, value);
}

/* ---- hashes of blobs, and other bytes -------------------------------------------------------- */

static int visit_hash(struct work *work, const struct ptl_value *value)
{
	const size_t offset = (size_t)(value->bytes - work->event->payload);
	uint8_t hash[PTL_HASH_SIZE];

	if (!work->hash || value->size != PTL_HASH_SIZE)
		return 0;
	memcpy(hash, value->bytes, PTL_HASH_SIZE);
	if (work->hash(work->context, hash)) {
		copy_up_to(work, offset);
		common_write_bytes(work->out, hash, PTL_HASH_SIZE);
		work->copied = offset + PTL_HASH_SIZE;
	} else if (value->field->type == PTL_TYPE_BYTES_COUNTED) {
		copy_up_to(work, offset - 2);
		common_write_le(work->out, 0, 2);
		work->copied = offset + PTL_HASH_SIZE;
	}
	return 0;
}

static int visit_bytes(struct work *work, const struct ptl_value *value)
{
	const size_t offset = (size_t)(value->bytes - work->event->payload);
	bool changed = false;
	size_t at;

	copy_up_to(work, offset);
	at = work->out->size;
	copy_up_to(work, offset + value->size);
	if (work->out->failed)
		return common_fail_memory("a payload", work->event->payload_size);
	return relog_redact_raw(work->redactor, work->out->data + at, value->size, &changed);
}

static bool is_hash(const struct work *work, const struct ptl_value *value)
{
	const char *name = value->field->name;
	const size_t size = name ? strlen(name) : 0;

	return work->kernel && size > 4 && strcmp(name + size - 4, "Hash") == 0;
}

static int redact_visit(void *context, const struct ptl_value *value)
{
	struct work *work = context;

	if (is_string(value))
		return visit_string(work, value);
	if (!work->out || (value->field->type != PTL_TYPE_BYTES && value->field->type != PTL_TYPE_BYTES_COUNTED))
		return 0;
	if (is_hash(work, value))
		return visit_hash(work, value);
	return work->kernel || !value->size ? 0 : visit_bytes(work, value);
}

/* ---- a payload ------------------------------------------------------------------------------- */

static struct work begin_payload(struct relog_redactor *redactor, const struct ptl_schema *schema,
				 const struct ptl_event *event)
{
	return (struct work){
		.redactor = redactor,
		.schema = schema,
		.event = event,
		.kernel = format_class_of(&event->descriptor) != FORMAT_CLASS_NONE,
	};
}

static int finish_payload(struct work *work, int status)
{
	common_bytes_free(&work->plain);
	common_bytes_free(&work->text);
	/* A payload that does not fit its schema is no failure: the rest is treated as plain bytes. */
	return status == PTL_TRUNCATED || status == PTL_CORRUPT || status == PTL_UNSUPPORTED ? 0 : status;
}

int relog_redact_learn_event(struct relog_redactor *redactor, const struct ptl_schema *schema,
			     const struct ptl_event *event)
{
	struct work work = begin_payload(redactor, schema, event);

	if (!schema)
		return 0;
	return finish_payload(
		&work, ptl_payload_decode(schema, event->payload, event->payload_size, redact_visit, &work, NULL));
}

int relog_redact_payload(struct relog_redactor *redactor, const struct ptl_schema *schema,
			 const struct ptl_event *event, bool (*hash)(void *context, uint8_t hash[PTL_HASH_SIZE]),
			 void *context, struct ptl_bytes *out)
{
	struct work work = begin_payload(redactor, schema, event);
	bool changed = false;
	size_t rest = 0, at;
	int status = 0;

	out->size = 0;
	work.out = out;
	work.hash = hash;
	work.context = context;
	if (schema)
		status = ptl_payload_decode(schema, event->payload, event->payload_size, redact_visit, &work, &rest);
	if (!schema || status)
		rest = event->payload_size - work.copied;
	status = finish_payload(&work, status);
	if (status)
		return status;
	copy_up_to(&work,
		   event->payload_size -
			   (rest > event->payload_size - work.copied ? event->payload_size - work.copied : rest));
	at = out->size;
	copy_up_to(&work, event->payload_size);
	if (out->failed)
		return common_fail_memory("a payload", event->payload_size);
	return out->size > at ? relog_redact_raw(redactor, out->data + at, out->size - at, &changed) : 0;
}

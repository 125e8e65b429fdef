/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the provenance record. */
#include <stdlib.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/input_hash.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "common/vector.h"

enum tag { TAG_TOOL = 1, TAG_VERSION, TAG_COMMAND, TAG_WALL_TIME, TAG_RULES, TAG_INPUT, TAG_UNMATCHED };
enum input_tag { TAG_NAME = 1, TAG_SIZE, TAG_SHA256, TAG_XXH128 };

void format_provenance_encode(const struct ptl_provenance *provenance, struct ptl_bytes *out)
{
	format_field_text(out, TAG_TOOL, provenance->tool);
	format_field_text(out, TAG_VERSION, provenance->version);
	format_field_text(out, TAG_COMMAND, provenance->command);
	format_field_signed(out, TAG_WALL_TIME, provenance->wall_time);
	format_field_text(out, TAG_RULES, provenance->rules);
	for (size_t i = 0; i < provenance->inputs; i++) {
		const struct ptl_provenance_input *input = &provenance->input[i];
		struct ptl_bytes body = {0};

		format_field_text(&body, TAG_NAME, input->name);
		format_field_number(&body, TAG_SIZE, input->size);
		if (input->hash_kind != PTL_HASH_NONE)
			format_field_bytes(&body, input->hash_kind == PTL_HASH_SHA256 ? TAG_SHA256 : TAG_XXH128,
					   input->hash, format_input_hash_size(input->hash_kind));
		out->failed |= body.failed;
		format_field_bytes(out, TAG_INPUT, body.data, body.size);
		common_bytes_free(&body);
	}
	format_field_text(out, TAG_UNMATCHED, provenance->unmatched);
}

static void take_hash(const struct format_tagged *field, enum ptl_hash_kind kind, struct ptl_provenance_input *input,
		      bool *failed)
{
	static const uint8_t none[PTL_HASH_SIZE];

	*failed = field->size != format_input_hash_size(kind);
	if (*failed)
		return;
	memset(input->hash, 0, sizeof(input->hash));
	memcpy(input->hash, field->data, field->size);
	/* Older versions wrote a missing hash as zeros. */
	input->hash_kind = memcmp(input->hash, none, sizeof(none)) ? kind : PTL_HASH_NONE;
}

static int decode_input(struct common_cursor body, struct ptl_provenance_input *input)
{
	const char *name = FORMAT_NO_TEXT;
	struct format_tagged field;
	bool failed = false;
	int status;

	while (!failed && (status = format_next_field(&body, &field)) != 0) {
		failed = status < 0;
		if (failed)
			break;
		switch (field.tag) {
		case TAG_NAME:
			format_take_text(&field, &name, &failed);
			break;
		case TAG_SIZE:
			input->size = format_take_number(&field, UINT64_MAX, &failed);
			break;
		case TAG_SHA256:
			take_hash(&field, PTL_HASH_SHA256, input, &failed);
			break;
		case TAG_XXH128:
			take_hash(&field, PTL_HASH_XXH128, input, &failed);
		}
	}
	if (failed) {
		format_text_free(name);
		return PTL_CORRUPT;
	}
	input->name = name;
	return 0;
}

static void decode_field(const struct format_tagged *field, struct ptl_provenance *provenance, bool *failed)
{
	struct ptl_provenance_input input = {.hash_kind = PTL_HASH_NONE}, *inputs = (void *)provenance->input;

	switch (field->tag) {
	case TAG_TOOL:
		format_take_text(field, &provenance->tool, failed);
		break;
	case TAG_VERSION:
		format_take_text(field, &provenance->version, failed);
		break;
	case TAG_COMMAND:
		format_take_text(field, &provenance->command, failed);
		break;
	case TAG_WALL_TIME:
		provenance->wall_time = format_take_signed(field, failed);
		break;
	case TAG_RULES:
		format_take_text(field, &provenance->rules, failed);
		break;
	case TAG_INPUT:
		*failed = provenance->inputs == FORMAT_RECORD_ITEMS_MAX ||
			  !common_vector_room(&inputs, provenance->inputs, sizeof(input));
		provenance->input = inputs;
		*failed = *failed || decode_input(common_cursor(field->data, field->size), &input) < 0;
		if (!*failed)
			inputs[provenance->inputs++] = input;
		break;
	case TAG_UNMATCHED:
		format_take_text(field, &provenance->unmatched, failed);
	}
}

/* Frees unused room: a small file could have half a million records with one input each. */
static void trim_inputs(struct ptl_provenance *provenance)
{
	void *exact = provenance->inputs
			      ? realloc((void *)provenance->input, provenance->inputs * sizeof(*provenance->input))
			      : NULL;

	if (exact)
		provenance->input = exact;
}

int format_provenance_decode(struct common_cursor body, struct ptl_provenance **provenance)
{
	struct ptl_provenance *result = calloc(1, sizeof(*result));
	struct format_tagged field;
	bool failed = false;
	int status;

	if (!result)
		return common_fail_memory("a provenance record", sizeof(*result));
	result->tool = result->version = result->command = result->rules = result->unmatched = FORMAT_NO_TEXT;
	while ((status = format_next_field(&body, &field)) > 0) {
		decode_field(&field, result, &failed);
		if (failed) {
			status = common_fail(PTL_CORRUPT, "field %llu of a provenance record",
					     (unsigned long long)field.tag);
			break;
		}
	}
	if (status < 0) {
		format_provenance_free(result);
		return status;
	}
	trim_inputs(result);
	*provenance = result;
	return status;
}

void format_provenance_free(struct ptl_provenance *provenance)
{
	if (!provenance)
		return;
	for (size_t i = 0; i < provenance->inputs; i++)
		format_text_free(provenance->input[i].name);
	free((void *)provenance->input);
	format_text_free(provenance->tool);
	format_text_free(provenance->version);
	format_text_free(provenance->command);
	format_text_free(provenance->rules);
	format_text_free(provenance->unmatched);
	free(provenance);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the provenance record. */
#include <stdlib.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/input_hash.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "common/vector.h"

enum tag { TAG_TOOL = 1, TAG_VERSION, TAG_COMMAND, TAG_WALL_TIME, TAG_RULES, TAG_INPUT };
enum input_tag { TAG_NAME = 1, TAG_SIZE, TAG_SHA256, TAG_XXH128 };

void ptl_provenance_encode(const struct ptl_provenance *provenance, struct ptl_bytes *out)
{
	ptl_field_text(out, TAG_TOOL, provenance->tool);
	ptl_field_text(out, TAG_VERSION, provenance->version);
	ptl_field_text(out, TAG_COMMAND, provenance->command);
	ptl_field_signed(out, TAG_WALL_TIME, provenance->wall_time);
	ptl_field_text(out, TAG_RULES, provenance->rules);
	for (size_t i = 0; i < provenance->inputs; i++) {
		const struct ptl_provenance_input *input = &provenance->input[i];
		struct ptl_bytes body = {0};

		ptl_field_text(&body, TAG_NAME, input->name);
		ptl_field_number(&body, TAG_SIZE, input->size);
		if (input->hash_kind != PTL_HASH_NONE)
			ptl_field_bytes(&body, input->hash_kind == PTL_HASH_SHA256 ? TAG_SHA256 : TAG_XXH128, input->hash,
					ptl_input_hash_size(input->hash_kind));
		out->failed |= body.failed;
		ptl_field_bytes(out, TAG_INPUT, body.data, body.size);
		ptl_bytes_free(&body);
	}
}

static void take_hash(const struct ptl_tagged *field, enum ptl_hash_kind kind, struct ptl_provenance_input *input,
		      bool *failed)
{
	static const uint8_t none[PTL_HASH_SIZE];

	*failed = field->size != ptl_input_hash_size(kind);
	if (*failed)
		return;
	memset(input->hash, 0, sizeof(input->hash));
	memcpy(input->hash, field->data, field->size);
	/* What did without a hash was written as zeros once. */
	input->hash_kind = memcmp(input->hash, none, sizeof(none)) ? kind : PTL_HASH_NONE;
}

static int decode_input(struct ptl_cursor body, struct ptl_provenance_input *input)
{
	const char *name = PTL_NO_TEXT;
	struct ptl_tagged field;
	bool failed = false;
	int status;

	while (!failed && (status = ptl_next_field(&body, &field)) != 0) {
		failed = status < 0;
		if (failed)
			break;
		switch (field.tag) {
		case TAG_NAME:
			ptl_take_text(&field, &name, &failed);
			break;
		case TAG_SIZE:
			input->size = ptl_take_number(&field, UINT64_MAX, &failed);
			break;
		case TAG_SHA256:
			take_hash(&field, PTL_HASH_SHA256, input, &failed);
			break;
		case TAG_XXH128:
			take_hash(&field, PTL_HASH_XXH128, input, &failed);
		}
	}
	if (failed) {
		ptl_text_free(name);
		return PTL_CORRUPT;
	}
	input->name = name;
	return 0;
}

static void decode_field(const struct ptl_tagged *field, struct ptl_provenance *provenance,
			 bool *failed)
{
	struct ptl_provenance_input input = {.hash_kind = PTL_HASH_NONE}, *inputs = (void *)provenance->input;

	switch (field->tag) {
	case TAG_TOOL:
		ptl_take_text(field, &provenance->tool, failed);
		break;
	case TAG_VERSION:
		ptl_take_text(field, &provenance->version, failed);
		break;
	case TAG_COMMAND:
		ptl_take_text(field, &provenance->command, failed);
		break;
	case TAG_WALL_TIME:
		provenance->wall_time = ptl_take_signed(field, failed);
		break;
	case TAG_RULES:
		ptl_take_text(field, &provenance->rules, failed);
		break;
	case TAG_INPUT:
		*failed = provenance->inputs == PTL_RECORD_ITEMS_MAX ||
			  !ptl_vector_room(&inputs, provenance->inputs, sizeof(input));
		provenance->input = inputs;
		*failed = *failed || decode_input(ptl_cursor(field->data, field->size), &input) < 0;
		if (!*failed)
			inputs[provenance->inputs++] = input;
	}
}

int ptl_provenance_decode(struct ptl_cursor body, struct ptl_provenance **provenance)
{
	struct ptl_provenance *result = calloc(1, sizeof(*result));
	struct ptl_tagged field;
	bool failed = false;
	int status;

	if (!result)
		return ptl_fail_memory("a provenance record", sizeof(*result));
	result->tool = result->version = result->command = result->rules = PTL_NO_TEXT;
	while ((status = ptl_next_field(&body, &field)) > 0) {
		decode_field(&field, result, &failed);
		if (failed) {
			status = ptl_fail(PTL_CORRUPT, "field %llu of a provenance record",
					  (unsigned long long)field.tag);
			break;
		}
	}
	if (status < 0)
		ptl_provenance_free(result);
	else
		*provenance = result;
	return status;
}

void ptl_provenance_free(struct ptl_provenance *provenance)
{
	if (!provenance)
		return;
	for (size_t i = 0; i < provenance->inputs; i++)
		ptl_text_free(provenance->input[i].name);
	free((void *)provenance->input);
	ptl_text_free(provenance->tool);
	ptl_text_free(provenance->version);
	ptl_text_free(provenance->command);
	ptl_text_free(provenance->rules);
	free(provenance);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the machine record, driven by a table of its fields. */
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

#include "common/error.h"

enum form { FORM_TEXT, FORM_BOOL, FORM_NUMBER, FORM_SIGNED };

/* Fields by tag; the tags are in docs/format.md. size: bytes of the member of struct ptl_machine. */
static const struct field {
	uint16_t offset;
	uint8_t size;
	uint8_t form;
} table[] = {
#define FIELD(member, form)                                                                                            \
	{                                                                                                              \
		offsetof(struct ptl_machine, member), sizeof(((struct ptl_machine *)0)->member), form                  \
	}
	[1] = FIELD(source, FORM_TEXT),
	[2] = FIELD(software, FORM_BOOL),
	[3] = FIELD(redacted, FORM_BOOL),
	[4] = FIELD(hostname, FORM_TEXT),
	[5] = FIELD(kernel, FORM_TEXT),
	[6] = FIELD(architecture, FORM_TEXT),
	[7] = FIELD(cpus, FORM_NUMBER),
	[8] = FIELD(cpu_name, FORM_TEXT),
	[9] = FIELD(vendor, FORM_NUMBER),
	[10] = FIELD(family, FORM_NUMBER),
	[11] = FIELD(model, FORM_NUMBER),
	[12] = FIELD(stepping, FORM_NUMBER),
	[13] = FIELD(mode, FORM_NUMBER),
	[14] = FIELD(clock, FORM_NUMBER),
	[15] = FIELD(start_time, FORM_NUMBER),
	[16] = FIELD(end_time, FORM_NUMBER),
	[17] = FIELD(wall_start, FORM_SIGNED),
	[18] = FIELD(wall_uncertainty, FORM_NUMBER),
	[20] = FIELD(tsc_zero, FORM_NUMBER),
	[21] = FIELD(tsc_multiplier, FORM_NUMBER),
	[22] = FIELD(tsc_shift, FORM_NUMBER),
	[23] = FIELD(tsc_frequency, FORM_NUMBER),
	[24] = FIELD(timing, FORM_NUMBER),
	[25] = FIELD(return_compression, FORM_BOOL),
	[26] = FIELD(psb_period, FORM_NUMBER),
	[27] = FIELD(mtc_frequency, FORM_NUMBER),
	[28] = FIELD(cyc_threshold, FORM_NUMBER),
	[29] = FIELD(ctc_numerator, FORM_NUMBER),
	[30] = FIELD(ctc_denominator, FORM_NUMBER),
	[31] = FIELD(nominal_ratio, FORM_NUMBER),
	[32] = FIELD(index, FORM_NUMBER),
	[33] = FIELD(boot_id, FORM_TEXT),
	[34] = FIELD(pid_namespace, FORM_NUMBER),
	[35] = FIELD(time_shift, FORM_SIGNED),
	[36] = FIELD(shift_uncertainty, FORM_NUMBER),
	[37] = FIELD(guest_code, FORM_NUMBER),
#undef FIELD
};

#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

/* Loads a member by memcpy, as only little-endian machines are supported. */
static uint64_t load_member(const void *member, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, member, size);
	return value;
}

void format_machine_encode(const struct ptl_machine *machine, struct ptl_bytes *out)
{
	for (unsigned tag = 1; tag < TABLE_SIZE; tag++) {
		const struct field *field = &table[tag];
		const char *member = (const char *)machine + field->offset;

		if (!field->size)
			continue;
		switch (field->form) {
		case FORM_TEXT:
			if (*member)
				format_field_bytes(out, tag, member, strnlen(member, field->size - 1u));
			break;
		case FORM_SIGNED:
			format_field_signed(out, tag, (int64_t)load_member(member, field->size));
			break;
		default:
			format_field_number(out, tag, load_member(member, field->size));
		}
	}
}

static void decode_member(const struct field *field, const struct format_tagged *tagged, char *member, bool *failed)
{
	uint64_t value, max = UINT64_MAX;

	switch (field->form) {
	case FORM_TEXT:
		format_take_text_into(tagged, member, field->size, failed);
		return;
	case FORM_SIGNED:
		value = (uint64_t)format_take_signed(tagged, failed);
		break;
	default:
		if (field->form == FORM_BOOL)
			max = 1;
		else if (field->size < 8)
			max = (1ull << 8 * field->size) - 1;
		value = format_take_number(tagged, max, failed);
	}
	memcpy(member, &value, field->size);
}

int format_machine_decode(struct common_cursor body, struct ptl_machine *machine)
{
	struct ptl_machine result = {0};
	struct format_tagged tagged;
	bool failed = false;
	int status;

	while ((status = format_next_field(&body, &tagged)) > 0) {
		if (tagged.tag < TABLE_SIZE && table[tagged.tag].size)
			decode_member(&table[tagged.tag], &tagged, (char *)&result + table[tagged.tag].offset, &failed);
		if (failed)
			return common_fail(PTL_CORRUPT, "field %llu of the machine record",
					   (unsigned long long)tagged.tag);
	}
	if (!status && result.index > PTL_MACHINE_MAX)
		return common_fail(PTL_CORRUPT, "machine %u: the highest index is %u", result.index, PTL_MACHINE_MAX);
	if (!status)
		*machine = result;
	return status;
}

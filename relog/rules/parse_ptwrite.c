/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses ptwrite statements: man/ptl-rules.5, PTWRITE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "relog/rules/parser.h"

#define SITES_MAX 256u
#define OPERAND_MAX 8u /* bytes of a PTWRITE operand */

/* ---- sites ------------------------------------------------------------------------------- */

/* Reads a number that ends the text. Returns false if the text is no number of the base. */
static bool read_number(const char *text, int base, uint64_t *number)
{
	const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	uint64_t value;

	if (base == 16 && strncmp(text, "0x", 2) != 0)
		return false;
	text += base == 16 ? 2 : 0;
	if (!*text || strspn(text, digits) != strlen(text))
		return false;
	errno = 0;
	value = strtoull(text, NULL, base);
	if (errno)
		return false;
	*number = value;
	return true;
}

/* Returns the last colon that is not part of "::"; NULL: none. */
static const char *last_colon(const char *text)
{
	for (size_t at = strlen(text); at-- > 0;)
		if (text[at] == ':' && text[at + 1] != ':' && (!at || text[at - 1] != ':'))
			return text + at;
	return NULL;
}

static const char *copy_part(struct query_parser *parser, const char *begin, const char *end)
{
	return common_arena_copy(parser->arena, begin, (size_t)(end - begin));
}

/* Splits "FUNCTION+BYTES". The plus signs of "operator+" are part of the name. */
static int split_function(struct query_parser *parser, const char *text, struct rules_site *site)
{
	const char *plus = strrchr(text, '+');

	site->kind = RULES_SITE_FUNCTION;
	site->has_offset = plus && plus > text &&
			   (read_number(plus + 1, 16, &site->number) || read_number(plus + 1, 10, &site->number));
	site->name = copy_part(parser, text, site->has_offset ? plus : text + strlen(text));
	return site->name ? 0 : PTL_NO_MEMORY;
}

static int split_site(struct query_parser *parser, struct rules_site *site)
{
	const char *colon = last_colon(site->text);
	const char *rest = colon ? colon + 1 : site->text;

	if (!*rest || colon == site->text)
		return query_refuse(parser, site->at,
				    "expected a place such as \"FUNCTION+0x10\", \"IMAGE:0x1234\" or \"FILE:LINE\", "
				    "found \"%.80s\"",
				    site->text);
	if (!colon)
		return read_number(rest, 16, &site->number) || read_number(rest, 10, &site->number)
			       ? query_refuse(parser, site->at,
					      "expected an address in an image, such as \"IMAGE:0x1234\", found "
					      "\"%.80s\" alone",
					      site->text)
			       : split_function(parser, rest, site);
	site->image = copy_part(parser, site->text, colon);
	if (!site->image)
		return PTL_NO_MEMORY;
	if (read_number(rest, 16, &site->number)) {
		site->kind = RULES_SITE_ADDRESS;
		return 0;
	}
	if (!read_number(rest, 10, &site->number))
		return split_function(parser, rest, site);
	site->kind = RULES_SITE_LINE;
	site->name = site->image;
	site->image = NULL;
	return 0;
}

static int add_site(struct query_parser *parser, struct rules_ptwrite *ptwrite)
{
	struct rules_site *site;
	int status;

	if (ptwrite->site_count == SITES_MAX)
		return query_refuse(parser, parser->token.at, "expected at most %u places, found more", SITES_MAX);
	if (!common_arena_room(parser->arena, &ptwrite->sites, ptwrite->site_count, sizeof(*ptwrite->sites)))
		return PTL_NO_MEMORY;
	site = &ptwrite->sites[ptwrite->site_count++];
	site->at = parser->token.at;
	status = query_count_one(parser, site->at);
	if (!status)
		status = query_need_string(parser, "a place in quotes, such as \"FUNCTION+0x10\"", &site->text);
	return status < 0 ? status : split_site(parser, site);
}

static int parse_sites(struct query_parser *parser, struct rules_ptwrite *ptwrite)
{
	int status;

	do
		status = add_site(parser, ptwrite);
	while (!status && (status = query_take_symbol(parser, ",")) > 0);
	return status;
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Returns the bytes of a field; 0: the field has no fixed size, or may be too large. */
static unsigned size_of_field(const struct ptl_field *field)
{
	static const uint8_t sizes[PTL_TYPE_STRUCT + 1] = {
		[PTL_TYPE_U8] = 1,      [PTL_TYPE_I8] = 1,  [PTL_TYPE_U16] = 2,   [PTL_TYPE_I16] = 2,
		[PTL_TYPE_U32] = 4,     [PTL_TYPE_I32] = 4, [PTL_TYPE_U64] = 8,   [PTL_TYPE_I64] = 8,
		[PTL_TYPE_F32] = 4,     [PTL_TYPE_F64] = 8, [PTL_TYPE_BOOL8] = 1, [PTL_TYPE_BOOL32] = 4,
		[PTL_TYPE_POINTER] = 8,
	};
	const unsigned size = field->type == PTL_TYPE_BYTES && field->length <= OPERAND_MAX ? field->length
											    : sizes[field->type];

	if (field->array == PTL_ARRAY_FIXED)
		return field->array_length <= OPERAND_MAX ? size * field->array_length : 0;
	return field->array ? 0 : size;
}

static int check_fields(const struct query_parser *parser, struct rules_ptwrite *ptwrite)
{
	const struct ptl_schema *schema = &ptwrite->schema->schema;

	for (size_t i = 0; i < schema->field_count; i++) {
		const unsigned size = size_of_field(&schema->fields[i]);

		if (!size)
			return query_refuse(parser, ptwrite->schema->at,
					    "expected fields of a fixed size up to 8 bytes, found '%.80s'",
					    schema->fields[i].name);
		ptwrite->size += size;
		if (ptwrite->size > OPERAND_MAX)
			return query_refuse(parser, ptwrite->schema->at,
					    "expected at most 8 bytes of fields, found more (up to '%.80s')",
					    schema->fields[i].name);
	}
	return ptwrite->size ? 0 : query_refuse(parser, ptwrite->schema->at, "expected a field, found none");
}

int rules_parse_ptwrite(struct query_parser *parser, struct rules_ptwrite **result)
{
	struct rules_ptwrite *ptwrite = common_arena_zeroed(parser->arena, sizeof(*ptwrite));
	int status;

	if (!ptwrite)
		return PTL_NO_MEMORY;
	ptwrite->at = parser->token.at;
	status = parse_sites(parser, ptwrite);
	if (!status)
		status = query_need_word(parser, "as");
	if (!status)
		status = rules_parse_schema(parser, &ptwrite->schema);
	if (!status)
		status = check_fields(parser, ptwrite);
	if (status < 0)
		return status;
	if (!*ptwrite->schema->schema.event_name)
		ptwrite->schema->schema.event_name = ptwrite->sites[0].text;
	*result = ptwrite;
	return 0;
}

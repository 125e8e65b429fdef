/* SPDX-License-Identifier: BSD-2-Clause */
/* Escapes of XML and CSV. */
#include "dump/print/markup.h"

#include <stdbool.h>
#include <string.h>

#include "common/text/text.h"
#include "common/text/utf8.h"

#define REPLACEMENT 0xfffdu

/* Characters of XML 1.0, section 2.2. */
static bool is_xml(uint32_t character)
{
	if (character < 0x20)
		return character == '\t' || character == '\n' || character == '\r';
	return character < 0xd800 || (character >= 0xe000 && character != 0xfffe && character != 0xffff);
}

/* Returns the escape of a character; NULL: none needed. */
static const char *xml_entity(uint32_t character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&apos;";
	case '\t':
		return "&#9;";
	case '\n':
		return "&#10;";
	case '\r':
		return "&#13;";
	default:
		return NULL;
	}
}

void dump_text_xml(struct ptl_bytes *text, const void *words, size_t size)
{
	const uint8_t *at = words;

	while (size) {
		uint32_t character = REPLACEMENT;
		const size_t read = common_utf8_read(at, size, &character), step = read ? read : 1;
		const char *entity;

		if (!read || !is_xml(character))
			character = REPLACEMENT;
		entity = xml_entity(character);
		if (entity)
			common_text_add(text, entity);
		else
			common_utf8_write(text, character);
		at += step;
		size -= step;
	}
}

static bool needs_quotes(const char *words, size_t size)
{
	if (size && (words[0] == ' ' || words[size - 1] == ' '))
		return true;
	for (size_t i = 0; i < size; i++)
		if (strchr(",\"\r\n", words[i]))
			return true;
	return false;
}

void dump_text_csv(struct ptl_bytes *text, const void *words, size_t size)
{
	const bool quotes = needs_quotes(words, size);
	const uint8_t *at = words;

	common_text_add(text, quotes ? "\"" : "");
	while (size) {
		uint32_t character = REPLACEMENT;
		const size_t read = common_utf8_read(at, size, &character), step = read ? read : 1;

		if (!read || !character)
			character = REPLACEMENT;
		common_text_add(text, character == '"' ? "\"" : "");
		common_utf8_write(text, character);
		at += step;
		size -= step;
	}
	common_text_add(text, quotes ? "\"" : "");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the subset of XML that manifests use. */
#include "import/etl/schema/xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/utf8.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Moves behind the next occurrence of mark, or to the end. */
static void pass_mark(struct etl_xml *xml, const char *mark)
{
	const char *found = memmem(xml->text + xml->at, xml->size - xml->at, mark, strlen(mark));

	xml->at = found ? (size_t)(found - xml->text) + strlen(mark) : xml->size;
}

static bool begins_with_mark(const struct etl_xml *xml, const char *mark)
{
	return xml->size - xml->at >= strlen(mark) && memcmp(xml->text + xml->at, mark, strlen(mark)) == 0;
}

/* Returns the end of the tag: a > outside quotes. */
static size_t find_end(const struct etl_xml *xml)
{
	char quote = 0;

	for (size_t at = xml->at; at < xml->size; at++) {
		const char c = xml->text[at];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '>')
			return at;
	}
	return xml->size;
}

static void split_tag(const char *start, const char *end, struct etl_tag *tag)
{
	const char *at;

	tag->closes = start < end && *start == '/';
	start += tag->closes;
	tag->empty = start < end && end[-1] == '/';
	end -= tag->empty;
	for (at = start; at < end && !is_space(*at); at++)
		if (*at == ':')
			start = at + 1;
	tag->name = (struct etl_slice){start, (size_t)(at - start)};
	tag->inside = (struct etl_slice){at, (size_t)(end - at)};
}

bool etl_xml_next(struct etl_xml *xml, struct etl_tag *tag)
{
	for (;;) {
		size_t end;

		pass_mark(xml, "<");
		if (xml->at >= xml->size)
			return false;
		if (begins_with_mark(xml, "!--")) {
			pass_mark(xml, "-->");
		} else if (begins_with_mark(xml, "![CDATA[")) {
			pass_mark(xml, "]]>");
		} else if (begins_with_mark(xml, "!") || begins_with_mark(xml, "?")) {
			pass_mark(xml, ">");
		} else {
			end = find_end(xml);
			split_tag(xml->text + xml->at, xml->text + end, tag);
			xml->at = end;
			return true;
		}
	}
}

bool etl_tag_is(const struct etl_tag *tag, const char *name)
{
	return tag->name.size == strlen(name) && memcmp(tag->name.text, name, tag->name.size) == 0;
}

bool etl_tag_attribute(const struct etl_tag *tag, const char *name, struct etl_slice *value)
{
	const char *at = tag->inside.text, *end = at + tag->inside.size;

	while (at < end) {
		const char *start, *stop, *quoted;

		while (at < end && is_space(*at))
			at++;
		start = at;
		while (at < end && *at != '=' && !is_space(*at))
			at++;
		stop = at;
		while (at < end && *at != '"' && *at != '\'')
			at++;
		if (at >= end)
			return false;
		quoted = memchr(at + 1, *at, (size_t)(end - at - 1));
		if (!quoted)
			return false;
		if ((size_t)(stop - start) == strlen(name) && memcmp(start, name, strlen(name)) == 0) {
			*value = (struct etl_slice){at + 1, (size_t)(quoted - at - 1)};
			return true;
		}
		at = quoted + 1;
	}
	return false;
}

static uint32_t entity(const char *name, size_t size)
{
	static const struct {
		const char *name;
		char character;
	} known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
	char number[12];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (size == strlen(known[i].name) && memcmp(name, known[i].name, size) == 0)
			return (unsigned char)known[i].character;
	if (size < 2 || size >= sizeof(number) || name[0] != '#')
		return 0;
	memcpy(number, name, size);
	number[size] = 0;
	return (uint32_t)(name[1] == 'x' ? strtoul(number + 2, NULL, 16) : strtoul(number + 1, NULL, 10));
}

void etl_xml_text(struct etl_slice value, struct ptl_bytes *out)
{
	const char *at = value.size ? value.text : "", *end = at + value.size;

	while (at < end) {
		const char *stop = *at == '&' ? memchr(at, ';', (size_t)(end - at)) : NULL;
		const uint32_t character = stop ? entity(at + 1, (size_t)(stop - at - 1)) : 0;

		if (character) {
			common_utf8_write(out, character);
			at = stop + 1;
		} else {
			common_write_bytes(out, at++, 1);
		}
	}
}

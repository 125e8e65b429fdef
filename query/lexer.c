/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits a text into tokens, and reports exact positions of errors. */
#include "query/lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/options.h"
#include "common/text/digits.h"

#define NUMBER_MAX 63 /* maximum characters of a number */

int query_fail_at(const char *name, struct query_place at, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return common_fail(PTL_CORRUPT, "%s:%u:%u: %s", name, at.line, at.column, text);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const struct query_lexer *lexer, size_t ahead)
{
	return lexer->size - lexer->at > ahead ? lexer->text[lexer->at + ahead] : '\0';
}

/* Advances by one byte. Continuation bytes of UTF-8 do not count as columns. */
static void step_byte(struct query_lexer *lexer)
{
	char c = lexer->text[lexer->at++];

	if (c == '\n') {
		lexer->place.line++;
		lexer->place.column = 1;
	} else if (((uint8_t)c & 0xc0) != 0x80) {
		lexer->place.column++;
	}
}

static void skip_blanks(struct query_lexer *lexer)
{
	while (lexer->at < lexer->size) {
		char c = lexer->text[lexer->at];

		if (c == '#' && !lexer->without_comments) {
			/* A zero byte is an error everywhere, because it ends C strings. */
			while (lexer->at < lexer->size && lexer->text[lexer->at] != '\n' && lexer->text[lexer->at])
				step_byte(lexer);
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			step_byte(lexer);
		} else {
			return;
		}
	}
}

static int refuse(const struct query_lexer *lexer, struct query_place at, const char *expected, const char *found)
{
	return common_fail(PTL_CORRUPT, "%s:%u:%u: expected %s, found %s", lexer->name, at.line, at.column, expected,
			   found);
}

static const char *end_of(const struct query_lexer *lexer)
{
	return lexer->end ? lexer->end : "the end of the file";
}

/* Describes the byte at the cursor for a message. */
static const char *shown_byte(const struct query_lexer *lexer, char shown[16])
{
	uint8_t c = (uint8_t)lexer->text[lexer->at];

	if (lexer->at == lexer->size)
		return end_of(lexer);
	if (c == '\n')
		return "the end of the line";
	snprintf(shown, 16, c > ' ' && c < 0x7f ? "'%c'" : "byte %#04x", c);
	return shown;
}

const char *query_token_shown(const struct query_lexer *lexer, const struct query_token *token,
			      char shown[QUERY_SHOWN_MAX + 8])
{
	size_t n = token->source_size < QUERY_SHOWN_MAX ? token->source_size : QUERY_SHOWN_MAX;
	char *out = shown;

	if (token->kind == QUERY_TOKEN_END)
		return end_of(lexer);
	*out++ = '\'';
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)token->source[i];

		*out++ = c < ' ' || c == 0x7f ? '?' : (char)c;
	}
	snprintf(out, 8, "%s'", n < token->source_size ? "..." : "");
	return shown;
}

/* ---- strings and names ------------------------------------------------------------------- */

/* Parses an escape; the cursor is behind the backslash. */
static int read_escape(struct query_lexer *lexer, struct query_place at, struct ptl_bytes *out)
{
	static const char from[] = "\"'\\nt", to[] = "\"'\\\n\t";
	char c = peek(lexer, 0), byte;
	const char *found = c ? strchr(from, c) : NULL;

	if (found) {
		byte = to[found - from];
		step_byte(lexer);
	} else {
		int high = common_hex_digit(peek(lexer, 1)), low = high < 0 ? -1 : common_hex_digit(peek(lexer, 2));

		if (c != 'x' || low < 0 || !(high | low))
			return refuse(lexer, at, "\\\", \\\\, \\n, \\t or \\xNN",
				      c == 'x' ? "another \\x" : "another escape");
		byte = (char)(high << 4 | low);
		for (int i = 0; i < 3; i++)
			step_byte(lexer);
	}
	common_write_bytes(out, &byte, 1);
	return 0;
}

static int read_quoted_bytes(struct query_lexer *lexer, char quote, struct ptl_bytes *out)
{
	step_byte(lexer);
	while (peek(lexer, 0) != quote || lexer->at == lexer->size) {
		struct query_place at = lexer->place;
		char c = peek(lexer, 0), shown[16];
		int status = 0;

		if (lexer->at == lexer->size || c == '\n' || c == '\0')
			return refuse(lexer, at,
				      quote == '"'   ? "a closing \""
				      : quote == '`' ? "a closing `"
						     : "a closing '",
				      shown_byte(lexer, shown));
		step_byte(lexer);
		if (c == '\\' && quote != '`')
			status = read_escape(lexer, at, out);
		else
			common_write_bytes(out, &c, 1);
		if (status < 0)
			return status;
	}
	step_byte(lexer);
	return 0;
}

static int read_quoted(struct query_lexer *lexer, char quote, struct query_token *token)
{
	struct ptl_bytes out = {0};
	int status = read_quoted_bytes(lexer, quote, &out);

	if (!status && out.failed)
		status = common_fail_memory("a string", out.size);
	if (!status) {
		token->size = out.size;
		token->text = common_arena_copy(lexer->arena, out.data, out.size);
		token->quoted = quote == '`';
		status = token->text ? 0 : PTL_NO_MEMORY;
	}
	if (!status && token->quoted && !token->size)
		status = refuse(lexer, token->at, "a name between ``", "nothing");
	common_bytes_free(&out);
	return status;
}

static int read_name(struct query_lexer *lexer, struct query_token *token)
{
	size_t start = lexer->at;

	while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
		step_byte(lexer);
	token->size = lexer->at - start;
	token->text = common_arena_copy(lexer->arena, lexer->text + start, token->size);
	return token->text ? 0 : PTL_NO_MEMORY;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static bool is_time_unit(const char *unit)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "m", "h"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i]))
			return true;
	return false;
}

/* Parses a number. text: as in the file; `unit` is behind its digits. */
static int take_number(struct query_token *token, const char *text, const char *unit)
{
	bool fraction = strchr(text, '.') != NULL;

	if (is_time_unit(unit) && text[1] != 'x')
		return common_parse_duration(text, &token->number);
	if (!fraction)
		return common_parse_size(text, &token->number);
	token->kind = QUERY_TOKEN_REAL;
	return *unit || sscanf(text, "%lf", &token->real) != 1 ? PTL_MISUSE : 0;
}

static int read_number(struct query_lexer *lexer, struct query_token *token)
{
	bool hex = peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x';
	char text[NUMBER_MAX + 1], shown[QUERY_SHOWN_MAX + 8];
	size_t n = 0, digits = 0;
	bool fraction = false;

	for (char c; (c = peek(lexer, 0)); step_byte(lexer)) {
		bool point = c == '.' && !hex && !fraction && is_digit(peek(lexer, 1)) && digits == n;

		if (!point && !is_digit(c) && !is_letter(c))
			break;
		fraction |= point;
		if (n < NUMBER_MAX)
			text[n++] = c;
		if (digits == n - 1 && (point || is_digit(c) || (hex && (n == 2 || common_hex_digit(c) >= 0))))
			digits = n;
	}
	text[n] = '\0';
	if (n < NUMBER_MAX && !take_number(token, text, text + digits))
		return 0;
	token->source_size = lexer->at - (size_t)(token->source - lexer->text);
	return refuse(lexer, token->at, "a number of at most 64 bits such as 10, 0x1f, 64K, 1.5 or 20ms",
		      query_token_shown(lexer, token, shown));
}

/* ---- symbols ----------------------------------------------------------------------------- */

static int read_symbol(struct query_lexer *lexer, struct query_token *token)
{
	static const char *const symbols[] = {
		"..", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "{", "}", "(", ")", "[", "]", ";",
		",",  "=",  "<",  ">",  "+",  "-",  "*",  "/",  "%",  "&", "|", "^", "~", ".", "@",
	};
	char shown[16];

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		size_t size = strlen(symbols[i]);

		if (lexer->size - lexer->at < size || memcmp(lexer->text + lexer->at, symbols[i], size) != 0)
			continue;
		token->text = symbols[i];
		token->size = size;
		for (size_t k = 0; k < size; k++)
			step_byte(lexer);
		return 0;
	}
	return refuse(lexer, token->at, "a word of the language", shown_byte(lexer, shown));
}

void query_move(struct query_lexer *lexer, const struct query_token *from, size_t bytes)
{
	lexer->at = (size_t)(from->source - lexer->text);
	lexer->place = from->at;
	while (bytes--)
		step_byte(lexer);
}

int query_next_token(struct query_lexer *lexer, struct query_token *token)
{
	char c;
	int status;

	skip_blanks(lexer);
	*token = (struct query_token){
		.at = lexer->place,
		.source = lexer->text + lexer->at,
		.text = "",
	};
	if (lexer->at == lexer->size)
		return 0;
	c = lexer->text[lexer->at];
	token->kind = c == '"' || c == '\'' ? QUERY_TOKEN_STRING
		      : c == '`'            ? QUERY_TOKEN_NAME
		      : is_letter(c)        ? QUERY_TOKEN_NAME
		      : is_digit(c)         ? QUERY_TOKEN_NUMBER
					    : QUERY_TOKEN_SYMBOL;
	if (c == '"' || c == '\'' || c == '`')
		status = read_quoted(lexer, c, token);
	else if (is_letter(c))
		status = read_name(lexer, token);
	else if (is_digit(c))
		status = read_number(lexer, token);
	else
		status = read_symbol(lexer, token);
	token->source_size = lexer->at - (size_t)(token->source - lexer->text);
	return status;
}

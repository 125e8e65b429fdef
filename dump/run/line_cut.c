/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds back the character in the last column, until the next character shows whether the line is too long. */
#include "dump/run/line_cut.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/bytes.h"

struct dump_line_cut {
	size_t width;
	size_t column; /* characters of the line so far */
	bool is_escape;
	struct ptl_bytes held; /* character in the last column */
	struct ptl_bytes text;
};

bool dump_line_cut_new(size_t width, struct dump_line_cut **cut)
{
	*cut = calloc(1, sizeof(**cut));
	if (*cut)
		(*cut)->width = width;
	return *cut;
}

void dump_line_cut_free(struct dump_line_cut *cut)
{
	if (!cut)
		return;
	common_bytes_free(&cut->held);
	common_bytes_free(&cut->text);
	free(cut);
}

static void add_character(struct dump_line_cut *cut, char c)
{
	const bool continues = (c & 0xc0) == 0x80;

	cut->column += !continues;
	if (cut->column < cut->width) {
		common_write_bytes(&cut->text, &c, 1);
	} else if (cut->column == cut->width) {
		common_write_bytes(&cut->held, &c, 1);
	} else if (cut->held.size) {
		common_write_bytes(&cut->text, ">", 1);
		cut->held.size = 0;
	}
}

static void release_held(struct dump_line_cut *cut)
{
	common_write_bytes(&cut->text, cut->held.data ? cut->held.data : (const uint8_t *)"", cut->held.size);
	cut->held.size = 0;
}

static void take_character(struct dump_line_cut *cut, char c)
{
	if (cut->is_escape) {
		common_write_bytes(&cut->text, &c, 1);
		cut->is_escape = c != 'm';
	} else if (c == '\033') {
		/* A colour ends behind the held character. */
		release_held(cut);
		common_write_bytes(&cut->text, &c, 1);
		cut->is_escape = true;
	} else if (c == '\n') {
		release_held(cut);
		common_write_bytes(&cut->text, &c, 1);
		cut->column = 0;
	} else {
		add_character(cut, c);
	}
}

bool dump_line_cut_add(struct dump_line_cut *cut, const char **data, size_t *size)
{
	cut->text.size = 0;
	for (size_t i = 0; i < *size; i++)
		take_character(cut, (*data)[i]);
	*data = (const char *)cut->text.data;
	*size = cut->text.size;
	return !cut->text.failed && !cut->held.failed;
}

size_t dump_terminal_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Drives the terminal by ncurses. */
#include "dump/browse/screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/text.h"

static struct {
	SCREEN *screen;
	int messages; /* file with the output to stderr; -1: no such file */
	int stderr_copy;
	bool utf8;
} terminal;

/* Redirects stderr to a file: messages would disturb the screen. Without a file, the messages are lost. */
static void hold_messages(void)
{
	terminal.messages = memfd_create("messages", MFD_CLOEXEC);
	terminal.stderr_copy = dup(STDERR_FILENO);
	if (terminal.messages >= 0 && terminal.stderr_copy >= 0)
		dup2(terminal.messages, STDERR_FILENO);
}

static void show_messages(void)
{
	char text[4096];
	ssize_t size;

	if (terminal.stderr_copy >= 0) {
		dup2(terminal.stderr_copy, STDERR_FILENO);
		close(terminal.stderr_copy);
	}
	if (terminal.messages < 0)
		return;
	lseek(terminal.messages, 0, SEEK_SET);
	while ((size = read(terminal.messages, text, sizeof(text))) > 0)
		if (write(STDERR_FILENO, text, (size_t)size) < 0)
			break;
	close(terminal.messages);
}

/* Whether the terminal can move the cursor. A terminal like TERM=dumb would show no screen, but wait for keys. */
static bool moves_cursor(void)
{
	const char *move = tigetstr("cup");

	return move && move != (const char *)-1;
}

int dump_browse_screen_start(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return common_fail(PTL_MISUSE, "browse needs a terminal; ptl-dump calls and report write text");
	setlocale(LC_CTYPE, "");
	terminal.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	terminal.screen = newterm(NULL, stdout, stdin);
	if (!terminal.screen)
		return common_fail(
			PTL_SYSTEM,
			"this terminal is not known: TERM must name one that has a description, such as xterm");
	if (!moves_cursor()) {
		endwin();
		delscreen(terminal.screen);
		terminal.screen = NULL;
		return common_fail(PTL_MISUSE,
				   "this terminal (TERM) cannot move its cursor, which browse needs; ptl-dump "
				   "calls and report write text");
	}
	hold_messages();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	(void)curs_set(0);
	if (has_colors() && start_color() == OK && use_default_colors() == OK)
		init_pair(1, COLOR_BLACK, COLOR_CYAN);
	return 0;
}

void dump_browse_screen_end(void)
{
	if (!terminal.screen)
		return;
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
	show_messages();
}

int dump_browse_screen_height(void)
{
	return LINES;
}

int dump_browse_screen_width(void)
{
	return COLS;
}

void dump_browse_screen_clear(void)
{
	erase();
}

static attr_t attributes_of(enum dump_browse_style style)
{
	switch (style) {
	case DUMP_BROWSE_BOLD:
		return A_BOLD;
	case DUMP_BROWSE_DIM:
		return A_DIM;
	case DUMP_BROWSE_CURSOR:
		return A_REVERSE;
	case DUMP_BROWSE_BAR:
		return has_colors() ? (attr_t)COLOR_PAIR(1) : A_REVERSE;
	default:
		return A_NORMAL;
	}
}

/* Returns how many bytes of the words fit into the columns. */
static size_t fit(const char *words, size_t columns)
{
	const size_t size = strlen(words);
	size_t end = 0;

	if (common_text_width(words, size) <= columns)
		return size;
	for (size_t next = 1; next <= size; next++) {
		/* Never cut within a character. */
		if ((words[next] & 0xc0) == 0x80)
			continue;
		if (common_text_width(words, next) > columns)
			break;
		end = next;
	}
	return end;
}

void dump_browse_screen_line(int y, enum dump_browse_style style, const char *words)
{
	const attr_t attributes = attributes_of(style);
	const size_t size = fit(words, (size_t)COLS);

	if (y < 0 || y >= LINES)
		return;
	move(y, 0);
	if (style == DUMP_BROWSE_CURSOR || style == DUMP_BROWSE_BAR)
		bkgdset(' ' | attributes);
	clrtoeol();
	bkgdset(' ');
	attrset(attributes);
	/* Outside UTF-8, ncurses would draw a multi-byte character as several characters. */
	for (size_t i = 0; i < size; i++) {
		size_t end = i + 1;

		while (end < size && (words[end] & 0xc0) == 0x80)
			end++;
		if (end == i + 1)
			addnstr(words + i, 1);
		else if (terminal.utf8)
			addnstr(words + i, (int)(end - i));
		else
			addch('?');
		i = end - 1;
	}
	attrset(A_NORMAL);
}

void dump_browse_screen_show(void)
{
	refresh();
}

int dump_browse_screen_key(void)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, DUMP_BROWSE_UP},         {KEY_DOWN, DUMP_BROWSE_DOWN},
		{KEY_LEFT, DUMP_BROWSE_LEFT},     {KEY_RIGHT, DUMP_BROWSE_RIGHT},
		{KEY_PPAGE, DUMP_BROWSE_PAGE_UP}, {KEY_NPAGE, DUMP_BROWSE_PAGE_DOWN},
		{KEY_HOME, DUMP_BROWSE_HOME},     {KEY_END, DUMP_BROWSE_END},
		{KEY_ENTER, DUMP_BROWSE_ENTER},   {'\n', DUMP_BROWSE_ENTER},
		{'\r', DUMP_BROWSE_ENTER},        {KEY_BACKSPACE, DUMP_BROWSE_BACKSPACE},
		{127, DUMP_BROWSE_BACKSPACE},     {'\b', DUMP_BROWSE_BACKSPACE},
		{27, DUMP_BROWSE_ESCAPE},         {KEY_RESIZE, DUMP_BROWSE_RESIZED},
	};
	const int got = getch();

	if (got == ERR)
		return DUMP_BROWSE_GONE;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == got)
			return keys[i].key;
	return got < 0x100 ? got : DUMP_BROWSE_OTHER;
}

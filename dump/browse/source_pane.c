/* SPDX-License-Identifier: BSD-2-Clause */
/* The source pane: source lines for the row at the cursor. */
#include <string.h>

#include "common/text/text.h"
#include "dump/browse/browser.h"

#define TAB 8

/* Finds an image with the function, and the function's address there. */
static bool find_place(const struct dump_browser *browser, const struct analysis_function *function, uint32_t *image,
		       uint64_t *address)
{
	const struct flow_timeline *timeline = browser->calls_input.timeline;
	const struct ptl_image_event *data;

	*image = function->place;
	if (*image == FLOW_NONE)
		return false;
	data = &flow_timeline_image(timeline, *image)->data;
	*address = function->address - data->default_base + data->base;
	return true;
}

/* Appends a line with tabs expanded, safe for a terminal. */
static void add_line(struct ptl_bytes *text, const char *words, size_t size)
{
	const size_t start = text->size;

	for (size_t i = 0; i < size;) {
		const char *tab = memchr(words + i, '\t', size - i);
		const size_t plain = tab ? (size_t)(tab - words) - i : size - i;

		common_text_safe_n(text, words + i, plain);
		i += plain + 1;
		if (tab)
			common_text_pad(text, text->size, TAB - (text->size - start) % TAB);
	}
}

static void draw_lines(struct dump_browser *browser, const char *file, uint32_t line, int y, int height)
{
	const uint32_t above = (uint32_t)height / 4;
	const uint32_t first = line > above ? line - above : 1;

	for (int i = 0; i < height; i++) {
		const uint32_t number = first + (uint32_t)i;
		const char *words;
		size_t size;

		if (!dump_source_line(&browser->texts, file, number, &words, &size))
			continue;
		browser->text.size = 0;
		common_text_decimal_right(&browser->text, number, 6);
		common_text_add(&browser->text, number == line ? " > " : "   ");
		add_line(&browser->text, words, size);
		dump_browse_screen_line(y + i, number == line ? DUMP_BROWSE_BOLD : DUMP_BROWSE_PLAIN,
					common_text_string(&browser->text));
	}
}

void dump_browse_draw_source(struct dump_browser *browser, uint32_t function, int y, int height)
{
	const struct analysis_function *data = analysis_function(browser->calls_input.functions, function);
	const char *file, *words;
	uint64_t address;
	uint32_t image, line;
	size_t size;
	bool found = find_place(browser, data, &image, &address) &&
		     flow_sources_find(browser->sources, image, address, &file, &line);

	browser->text.size = 0;
	common_text_add(&browser->text, "--- ");
	if (function != ANALYSIS_NO_FUNCTION)
		analysis_function_text(data, &browser->text);
	if (found) {
		common_text_add(&browser->text, "   ");
		common_text_safe(&browser->text, file);
		common_text_format(&browser->text, ":%u", line);
		if (!dump_source_line(&browser->texts, file, line, &words, &size)) {
			common_text_add(&browser->text, "   (this machine does not have it)");
			found = false;
		}
	} else if (function != ANALYSIS_NO_FUNCTION) {
		common_text_add(&browser->text,
				"   no source line is known: neither the trace nor this machine has debug information");
	}
	dump_browse_screen_line(y, DUMP_BROWSE_DIM, common_text_string(&browser->text));
	if (found)
		draw_lines(browser, file, line, y + 1, height - 1);
}

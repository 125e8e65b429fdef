/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a flame graph as a self-contained SVG picture with a script. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/text/utf8.h"
#include "dump/export/flame/flamegraph.h"
#include "dump/print/markup.h"

#define WIDTH 1180.0
#define MARGIN 10.0
#define ROW 17
#define HEAD 60
#define LETTER 7.2 /* width of a letter in pixels, in a monospaced font of 12 pixels */
/* Frames narrower than a tenth of a pixel, 1 / 11800 of the width, are left out. */
#define NARROW 0.1

struct svg {
	struct dump_run *run;
	const struct dump_flame_tree *tree;
	const struct dump_flame_look *look;
	struct ptl_bytes text;
	unsigned side;    /* the trace whose totals give the widths */
	uint32_t deepest; /* depth of the deepest frame that is not too narrow */
	uint64_t narrow;  /* number of frames that are too narrow */
	uint64_t missing; /* total of the other trace in paths that this trace lacks */
};

static uint64_t whole(const struct svg *svg, unsigned side)
{
	return svg->tree->nodes[0].total[side];
}

static double width_of(const struct svg *svg, const struct dump_flame_node *node)
{
	return whole(svg, svg->side) ? WIDTH * (double)node->total[svg->side] / (double)whole(svg, svg->side) : 0;
}

/* ---- colours ------------------------------------------------------------------------------------- */

/* Appends a warm colour, always the same for a name. */
static void name_color(const char *name, struct ptl_bytes *text)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	common_text_format(text, "#%02x%02x%02x", 205 + hash % 50, (hash >> 8) % 180 + 40, (hash >> 16) % 55);
}

/* Appends a colour: red for a larger share in the second trace, blue for a smaller share, white for equal shares. */
static void change_color(const struct svg *svg, const struct dump_flame_node *node, struct ptl_bytes *text)
{
	const double before = whole(svg, 0) ? (double)node->total[0] / (double)whole(svg, 0) : 0;
	const double after = whole(svg, 1) ? (double)node->total[1] / (double)whole(svg, 1) : 0;
	const double larger = before > after ? before : after;
	const double change = larger > 0 ? (after - before) / larger : 0;
	const int faded = 255 - (int)(170 * (change < 0 ? -change : change));

	if (change >= 0)
		common_text_format(text, "#ff%02x%02x", faded, faded);
	else
		common_text_format(text, "#%02x%02xff", faded, faded);
}

/* ---- frames -------------------------------------------------------------------------------------- */

static void add_share(const struct svg *svg, const struct dump_flame_node *node, unsigned side, struct ptl_bytes *text)
{
	common_text_count(text, node->total[side]);
	common_text_format(text, " %s, ", svg->look->unit);
	common_text_share(text, node->total[side], whole(svg, side));
}

static void add_title(const struct svg *svg, const struct dump_flame_node *node, struct ptl_bytes *text)
{
	const char *name = dump_flame_name(svg->tree, node);

	common_text_add(text, "<title>");
	dump_text_xml(text, name, strlen(name));
	common_text_add(text, "\n");
	add_share(svg, node, svg->side, text);
	if (svg->look->two) {
		common_text_add(text, svg->side ? "\nbefore: " : "\nafter: ");
		add_share(svg, node, !svg->side, text);
	}
	common_text_add(text, "</title>");
}

/* Appends the name, cut to the width of the frame. */
static void add_label(const struct svg *svg, const struct dump_flame_node *node, double x, double y,
		      struct ptl_bytes *text)
{
	const char *name = dump_flame_name(svg->tree, node);
	const size_t size = strlen(name);
	const double room = (width_of(svg, node) - 6) / LETTER;
	const size_t letters = room > 0 ? (size_t)room : 0;

	if (letters < 3)
		return;
	common_text_format(text, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
	if (size <= letters) {
		dump_text_xml(text, name, size);
	} else {
		dump_text_xml(text, name, common_utf8_fit(name, size, letters - 2));
		common_text_add(text, "..");
	}
	common_text_add(text, "</text>");
}

static void add_frame(const struct svg *svg, const struct dump_flame_node *node, double x, struct ptl_bytes *text)
{
	const uint32_t level = svg->look->icicle ? node->depth : svg->deepest - node->depth;
	const double y = HEAD + (double)level * ROW, width = width_of(svg, node) - 0.3;

	common_text_format(text, "<g data-d=\"%" PRIu32 "\" data-v=\"%" PRIu64 "\"", node->depth,
			   node->total[svg->side]);
	if (svg->look->two)
		common_text_format(text, " data-w=\"%" PRIu64 "\"", node->total[!svg->side]);
	common_text_add(text, ">");
	add_title(svg, node, text);
	common_text_format(text, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
			   width > NARROW ? width : NARROW, ROW - 1);
	if (svg->look->two)
		change_color(svg, node, text);
	else
		name_color(dump_flame_name(svg->tree, node), text);
	common_text_add(text, "\"/>");
	add_label(svg, node, x, y, text);
	common_text_add(text, "</g>\n");
}

/* Writes all frames. next: by depth, the left edge of the next child of the open node. */
static int add_frames(struct svg *svg)
{
	double *next = calloc((size_t)svg->deepest + 2, sizeof(*next));
	int status = 0;

	if (!next)
		return common_fail_memory("a picture", svg->deepest * sizeof(*next));
	next[0] = MARGIN;
	for (size_t i = 0; status == 0 && i < svg->tree->count; i++) {
		const struct dump_flame_node *node = &svg->tree->nodes[i];
		const double width = width_of(svg, node);

		/* Children of a narrow frame are narrow too. */
		if (width < NARROW && i)
			continue;
		svg->text.size = 0;
		add_frame(svg, node, next[node->depth], &svg->text);
		next[node->depth + 1] = next[node->depth];
		next[node->depth] += width;
		common_text_write(&svg->text, svg->run->out);
		if (i % 1024 == 0)
			status = dump_output_check(svg->run);
	}
	free(next);
	return svg->text.failed ? common_fail_memory("a picture", svg->text.size) : status;
}

static void measure_svg(struct svg *svg)
{
	for (size_t i = 0; i < svg->tree->count; i++) {
		const struct dump_flame_node *node = &svg->tree->nodes[i];

		/* Counts only the topmost missing node: the total includes all descendants. */
		if (!node->total[svg->side] && svg->tree->nodes[node->parent].total[svg->side])
			svg->missing += node->total[!svg->side];
		if (width_of(svg, node) < NARROW && i)
			svg->narrow += node->total[svg->side] != 0;
		else if (node->depth > svg->deepest)
			svg->deepest = node->depth;
	}
}

/* ---- the picture --------------------------------------------------------------------------------- */

static void add_words(struct ptl_bytes *text, const char *start, const char *words, const char *end)
{
	common_text_add(text, start);
	dump_text_xml(text, words, strlen(words));
	common_text_add(text, end);
}

static void add_head(struct svg *svg, const char *left_out)
{
	static const struct {
		const char *id, *label;
		int x;
	} buttons[] = {{"reset", "whole", 10},
		       {"search", "search", 70},
		       {"reverse", "reverse", 140},
		       {"turn", "upside down", 215}};
	const double height = HEAD + (svg->deepest + 1.0) * ROW + 10;
	struct ptl_bytes *text = &svg->text;

	common_text_format(
		text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" data-width=\"%.0f\" data-margin=\"%.0f\" "
		"data-row=\"%d\" data-head=\"%d\" data-unit=\"%s\"%s%s>\n",
		WIDTH + 2 * MARGIN, height, WIDTH + 2 * MARGIN, height, WIDTH, MARGIN, ROW, HEAD, svg->look->unit,
		svg->look->two ? svg->side ? " data-two=\"before\"" : " data-two=\"after\"" : "",
		svg->look->icicle ? " data-icicle=\"\"" : "");
	add_words(text, "<title>", svg->look->title, "</title>\n");
	common_text_add(
		text, "<style>text{font:12px monospace;fill:#000}#frames g{cursor:pointer}#frames rect:hover"
		      "{stroke:#000;stroke-width:0.5}.button{cursor:pointer;fill:#06c}#head{font-weight:bold}</style>\n"
		      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	add_words(text, "<text id=\"head\" x=\"10\" y=\"18\">", svg->look->title, "</text>\n");
	for (size_t i = 0; i < sizeof(buttons) / sizeof(buttons[0]); i++)
		common_text_format(
			text, "<text id=\"%s\" class=\"button\" visibility=\"hidden\" x=\"%d\" y=\"36\">%s</text>\n",
			buttons[i].id, buttons[i].x, buttons[i].label);
	common_text_add(text, "<text id=\"found\" x=\"330\" y=\"36\"></text>\n");
	if (left_out)
		add_words(text, "<text id=\"left-out\" x=\"10\" y=\"52\">left out: ", left_out, "</text>\n");
	common_text_add(text, "<g id=\"frames\">\n");
	common_text_write(text, svg->run->out);
}

/* Adds a note about paths that only the other trace has: their width is 0. */
static void add_missing(const struct svg *svg, struct dump_left_out *left_out)
{
	struct ptl_bytes share = {0};

	if (!svg->missing)
		return;
	common_text_share(&share, svg->missing, whole(svg, !svg->side));
	dump_left_out_say(left_out, "paths that only the %s trace has, %s of it (--widths %s shows them)",
			  svg->side ? "first" : "second", common_text_string(&share), svg->side ? "first" : "second");
	common_bytes_free(&share);
}

int dump_flame_svg(struct dump_run *run, const struct dump_flame_tree *tree, const struct dump_flame_look *look,
		   struct dump_left_out *left_out)
{
	struct svg svg = {.run = run, .tree = tree, .look = look, .side = look->two && !look->of_first};
	int status;

	measure_svg(&svg);
	dump_left_out_add(left_out, svg.narrow, "frame of less than 0.01 % of all",
			  "frames of less than 0.01 % of all");
	add_missing(&svg, left_out);
	add_head(&svg, dump_left_out_text(left_out));
	status = add_frames(&svg);
	if (status == 0)
		fprintf(run->out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", dump_flame_script);
	common_bytes_free(&svg.text);
	return status;
}

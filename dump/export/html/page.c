/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the page from a template, with placeholders in braces. */
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/sha256.h"
#include "common/text/text.h"
#include "dump/export/html/html.h"
#include "dump/print/markup.h"

/* Bytes for the title, the policy, tags of elements, the text of left_out, and empty lists of all elements. */
#define FRAME ((uint64_t)16 << 10)

struct page {
	struct dump_run *run;
	struct dump_html html;
};

/* ---- elements of data ---------------------------------------------------------------------------- */

struct element {
	const char *id;
	/* Writes one value for a trace to run->json_out. */
	int (*write)(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace);
	bool of_second;
	uint8_t share; /* percentage of the page; later elements may use the rest */
};

static int write_summary(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	dump_html_summary(html, run, trace);
	return 0;
}

static int write_processes(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	dump_html_processes(html, run, trace);
	return 0;
}

static int write_losses(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	(void)trace;
	dump_html_losses(html, run);
	return 0;
}

static int write_functions(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	dump_html_functions(html, run, trace);
	return 0;
}

static int write_events(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	return dump_html_events(html, run, trace->path_run.calls.timeline);
}

static int write_sources(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	return dump_html_sources(html, run, trace);
}

static int write_left_out(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	(void)trace;
	common_json_string(&run->json_out, NULL, dump_left_out_text(&html->left_out));
	return 0;
}

/* "left-out" comes last: the text is complete only after writing all elements. */
static const struct element elements[] = {
	{"summary", write_summary, true, 4},        {"processes", write_processes, true, 8},
	{"crash", dump_html_crash, true, 1},        {"losses", write_losses, true, 4},
	{"functions", write_functions, true, 15},   {"paths", dump_html_paths, true, 15},
	{"timeline", dump_html_timeline, true, 34}, {"events", write_events, true, 10},
	{"sources", write_sources, true, 10},       {"left-out", write_left_out, false, 0},
};

/* Writes an element to a copy of the trace's run, with another output. */
static int write_element(struct page *page, const struct element *element, size_t which)
{
	FILE *out = page->run->out;
	struct dump_html_trace *trace = &page->html.trace[which];
	struct dump_run run = trace->path_run.run;
	struct dump_html_room *room = &page->html.room;
	int status;

	fprintf(out, "<script type=\"application/json\" id=\"data-%s%s\">", element->id, which ? "-2" : "");
	run.out = dump_html_stream(room);
	if (!run.out)
		return common_fail_memory("output", BUFSIZ);
	room->file = run.out;
	run.output = page->run->output;
	run.color = false;
	common_json_start(&run.json_out, run.out);
	status = element->write(&page->html, &run, trace);
	fclose(run.out);
	fputs("</script>\n", out);
	return status < 0 ? status : dump_output_check(page->run);
}

/* Returns the size of the constant parts of every page, including tags. */
static uint64_t fixed_size(void)
{
	return strlen(dump_html_template) + strlen(dump_html_style) + strlen(dump_html_script) + FRAME;
}

/*
 * Writes all elements. The shares refer to the page without its constant parts. Each element may extend up to the end
 * of its share.
 */
static int write_data(struct page *page)
{
	struct dump_html_room *room = &page->html.room;
	const uint64_t fixed = fixed_size(), whole = page->html.limits->size - fixed;
	uint64_t percent = 0;
	int status = 0;

	room->out = page->run->out;
	room->written = fixed;
	for (size_t i = 0; status == 0 && i < sizeof(elements) / sizeof(elements[0]); i++) {
		const uint64_t before = fixed + whole / 100 * percent;
		const size_t count = elements[i].of_second ? page->html.count : 1;

		percent += elements[i].share;
		for (size_t k = 0; status == 0 && k < count; k++) {
			room->end = before + whole / 100 * elements[i].share * (k + 1) / count;
			status = write_element(page, &elements[i], k);
		}
	}
	return status;
}

/* ---- the template -------------------------------------------------------------------------------- */

/* Writes 'sha256-...' of the content between the tags. */
static void write_hash(FILE *out, const char *content)
{
	uint8_t digest[COMMON_SHA256_SIZE];
	struct ptl_bytes text = {0};

	common_sha256_of(content, strlen(content), digest);
	dump_html_base64(&text, digest, sizeof(digest));
	fprintf(out, "'sha256-%s'", common_text_string(&text));
	common_bytes_free(&text);
}

static int write_policy(struct page *page)
{
	FILE *out = page->run->out;

	fputs("default-src 'none'; script-src ", out);
	write_hash(out, dump_html_script);
	fputs("; style-src ", out);
	write_hash(out, dump_html_style);
	fputs("; base-uri 'none'; form-action 'none'", out);
	return 0;
}

static int write_title(struct page *page)
{
	const char *name = common_base_name(page->run->path);
	struct ptl_bytes text = {0};

	dump_text_xml(&text, name, strlen(name));
	common_text_write(&text, page->run->out);
	common_bytes_free(&text);
	return 0;
}

static int write_style(struct page *page)
{
	fputs(dump_html_style, page->run->out);
	return 0;
}

static int write_script(struct page *page)
{
	fputs(dump_html_script, page->run->out);
	return 0;
}

static const struct {
	const char *name;
	int (*write)(struct page *page);
} places[] = {
	{"{{policy}}", write_policy}, {"{{title}}", write_title},   {"{{style}}", write_style},
	{"{{data}}", write_data},     {"{{script}}", write_script},
};

/* Each placeholder occurs once, in this order. */
static int write_page(struct page *page)
{
	const char *rest = dump_html_template;
	int status = 0;

	for (size_t i = 0; status == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		const char *found = strstr(rest, places[i].name);

		fwrite(rest, 1, (size_t)(found - rest), page->run->out);
		rest = found + strlen(places[i].name);
		status = places[i].write(page);
	}
	fputs(rest, page->run->out);
	return status;
}

static int page_run(struct page *page, const char *second)
{
	struct dump_html *html = &page->html;
	int status = 0;

	for (size_t i = 0; status == 0 && i < html->count; i++)
		status = dump_path_run_open(&html->trace[i].path_run, page->run, i ? second : NULL);
	for (size_t i = 0; status == 0 && i < html->count; i++)
		status = dump_html_trace_run(&html->trace[i], html->limits);
	if (status == 0)
		status = write_page(page);
	dump_left_out_report(&html->left_out);
	dump_left_out_free(&html->left_out);
	for (size_t i = 0; i < html->count; i++)
		dump_html_trace_free(&html->trace[i]);
	return status == 0 && html->trace[1].path_run.damaged ? COMMON_EXIT_INPUT : status;
}

int dump_html(struct dump_run *run, const struct dump_html_limits *given_limits)
{
	const struct dump_html_limits limits = {
		.size = given_limits->size ? given_limits->size : (uint64_t)64 << 20,
		.slices = given_limits->slices ? given_limits->slices : 1000000,
		.functions = given_limits->functions ? given_limits->functions : 20000,
		.paths = given_limits->paths ? given_limits->paths : 50000,
		.events = given_limits->events ? given_limits->events : 10000,
		.sources = given_limits->sources ? given_limits->sources : 100,
	};
	struct page page = {.run = run, .html = {.limits = &limits, .count = 1 + run->more_count}};

	if (run->more_count > 1)
		return common_fail(PTL_MISUSE, "two traces can be compared, not %zu", 1 + run->more_count);
	return page_run(&page, run->more_count ? run->more[0] : NULL);
}

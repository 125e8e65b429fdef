/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/rules/sites.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "analysis/input/filter.h"
#include "common/text/text.h"
#include "flow/code/instruction.h"
#include "flow/symbol/made_code.h"
#include "query/function_name.h"
#include "query/function_near.h"

int rules_code_names_open(struct rules_code_names *names, struct ptl_trace *trace)
{
	int status = flow_made_timeline(trace, &names->timeline);

	if (!status)
		status = flow_symbols_open(trace, names->timeline, FLOW_NAMES_WHOLE, &names->symbols);
	if (!status)
		status = flow_sources_open(trace, names->timeline, &names->sources);
	if (!status)
		flow_sources_want_scopes(names->sources);
	return status;
}

void rules_code_names_close(struct rules_code_names *names)
{
	if (names->code)
		flow_code_close(names->code);
	flow_sources_close(names->sources);
	flow_symbols_close(names->symbols);
	flow_timeline_free(names->timeline);
	*names = (struct rules_code_names){0};
}

/* ---- an executed instruction ------------------------------------------------------------- */

static bool is_called(const struct rules_code_names *names, const char *linker_name, const char *text)
{
	struct ptl_bytes name = {0};
	bool found;

	flow_symbols_name(names->symbols, linker_name, &name);
	found = query_function_is_called(common_text_string(&name), text) ||
		query_function_is_called(linker_name, text);
	common_bytes_free(&name);
	return found;
}

/* Whether the function, or a function that the compiler inlined there, has the name. */
static bool is_in_function(const struct rules_code_names *names, const struct rules_site *site,
			   const struct rules_instruction *instruction)
{
	struct flow_symbol symbol;

	if (flow_symbols_find(names->symbols, instruction->image, instruction->address, &symbol) &&
	    is_called(names, symbol.name, site->name))
		return !site->has_offset || symbol.offset == site->number;
	if (site->has_offset)
		return false;
	for (const struct flow_scope *scope =
		     flow_sources_scope(names->sources, instruction->image, instruction->address);
	     scope; scope = scope->outer)
		if (*scope->function->name && is_called(names, scope->function->name, site->name))
			return true;
	return false;
}

/* Whether the path ends with the components of the name. */
static bool is_file(const char *path, const char *name)
{
	const size_t path_size = strlen(path), size = strlen(name);

	return size <= path_size && !strcmp(path + path_size - size, name) &&
	       (size == path_size || path[path_size - size - 1] == '/' || *name == '/');
}

static bool is_in_line(const struct rules_code_names *names, const struct rules_site *site,
		       const struct rules_instruction *instruction)
{
	const char *file;
	uint32_t line;

	return flow_sources_find(names->sources, instruction->image, instruction->address, &file, &line) &&
	       line == site->number && is_file(file, site->name);
}

bool rules_site_has(const struct rules_code_names *names, const struct rules_site *site,
		    const struct rules_instruction *instruction)
{
	const struct flow_timeline_image *image;

	if (instruction->image == FLOW_NONE)
		return false;
	image = flow_timeline_image(names->timeline, instruction->image);
	if (site->image && !analysis_filter_image_is(site->image, image->data.file_name))
		return false;
	if (site->kind == RULES_SITE_ADDRESS)
		return flow_image_address(image, instruction->address) == site->number;
	return site->kind == RULES_SITE_LINE ? is_in_line(names, site, instruction)
					     : is_in_function(names, site, instruction);
}

void rules_function_of(const struct rules_code_names *names, const struct rules_instruction *instruction,
		       struct ptl_bytes *text)
{
	struct flow_symbol symbol;

	if (instruction->image != FLOW_NONE &&
	    flow_symbols_find(names->symbols, instruction->image, instruction->address, &symbol))
		flow_symbols_name(names->symbols, symbol.name, text);
}

/* ---- the search for a site --------------------------------------------------------------- */

/* Whether the instruction at an address of the image's file is PTWRITE. Code that the trace lacks may be PTWRITE. */
static bool may_be_ptwrite(const struct rules_code_names *names, const struct flow_timeline_image *image,
			   uint64_t address)
{
	const uint64_t end = image->end == FLOW_TIME_END ? image->start : image->end - 1;
	const unsigned modes[] = {64, 32};
	struct flow_instruction instruction;
	uint8_t bytes[FLOW_INSTRUCTION_MAX];
	struct flow_version version;
	bool decoded = false;
	size_t size;

	if (!names->code)
		return true;
	flow_timeline_version(names->timeline, image->process, end > image->start ? end : image->start, &version);
	size = flow_code_read(names->code, version.root, address - image->data.default_base + image->data.base, bytes,
			      sizeof(bytes));
	for (size_t i = 0; i < 2; i++) {
		if (flow_instruction_decode(bytes, size, modes[i], address, &instruction))
			continue;
		if (instruction.ptwrite)
			return true;
		decoded = true;
	}
	return !decoded;
}

static enum rules_site_finding search_address(const struct rules_code_names *names,
					      const struct flow_timeline_image *image, uint64_t address)
{
	const uint64_t first = flow_image_address(image, image->data.base);

	if (address < first || address - first >= image->data.size)
		return RULES_SITE_OUTSIDE;
	return may_be_ptwrite(names, image, address) ? RULES_SITE_NOT_EXECUTED : RULES_SITE_NO_INSTRUCTION;
}

static enum rules_site_finding search_function(const struct rules_code_names *names, const struct rules_site *site,
					       const struct flow_timeline_image *image, struct query_near *near)
{
	const struct ptl_symbol_table *table = flow_symbols_table(names->symbols, &image->data);
	const size_t count = table ? ptl_symbols_count(table) : 0;
	enum rules_site_finding best = RULES_SITE_NO_NAME, finding;

	for (size_t i = 0; i < count; i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);
		struct ptl_bytes name = {0};

		if (!is_called(names, symbol.name, site->name)) {
			flow_symbols_name(names->symbols, symbol.name, &name);
			query_near_look(near, common_text_string(&name));
			common_bytes_free(&name);
			continue;
		}
		finding = !site->has_offset ? RULES_SITE_NOT_EXECUTED
			  : symbol.size && site->number >= symbol.size
				  ? RULES_SITE_OUTSIDE
				  : search_address(names, image, symbol.address + site->number);
		if (finding > best)
			best = finding;
	}
	return best;
}

struct line_search {
	const struct rules_site *site;
	bool found;
};

static int look_at_line(void *context, uint64_t first, uint64_t end, const char *file, uint32_t line)
{
	struct line_search *search = context;

	(void)first;
	(void)end;
	search->found = line == search->site->number && is_file(file, search->site->name);
	return search->found;
}

static enum rules_site_finding search_line(const struct rules_code_names *names, const struct rules_site *site,
					   uint32_t image)
{
	struct line_search search = {.site = site};
	bool any;

	(void)flow_sources_walk(names->sources, image, look_at_line, &search, &any);
	return search.found ? RULES_SITE_NOT_EXECUTED : RULES_SITE_NO_NAME;
}

enum rules_site_finding rules_site_search(const struct rules_code_names *names, const struct rules_site *site,
					  struct query_near *near)
{
	enum rules_site_finding best = RULES_SITE_NO_IMAGE, finding;

	for (size_t i = 0; i < flow_timeline_image_count(names->timeline); i++) {
		const struct flow_timeline_image *image = flow_timeline_image(names->timeline, i);

		/* Equal images of several processes have equal code and names. */
		if (image->inherited || (site->image && !analysis_filter_image_is(site->image, image->data.file_name)))
			continue;
		finding = site->kind == RULES_SITE_ADDRESS ? search_address(names, image, site->number)
			  : site->kind == RULES_SITE_LINE  ? search_line(names, site, (uint32_t)i)
							   : search_function(names, site, image, near);
		if (finding > best)
			best = finding;
	}
	return best;
}

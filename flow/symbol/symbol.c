/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of addresses: symbol tables by image, each read once. */
#include "flow/symbol/symbol.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/text/text.h"
#include "elf/debug_search.h"
#include "elf/debuginfod.h"
#include "elf/demangle.h"
#include "flow/symbol/image_tables.h"
#include "flow/symbol/symbol_file.h"
#include "query/name_form.h"

#define TABLE_MAX ((size_t)1 << 30) /* maximum bytes of a symbol table */

struct flow_symbols {
	struct ptl_trace *trace;
	enum flow_names names;
	struct flow_image_tables tables; /* elements: struct ptl_symbol_table * */
	atomic_size_t unreadable;
};

static bool has_type(const struct ptl_symbol_table *table, uint8_t type)
{
	for (size_t i = 0; i < ptl_symbols_count(table); i++)
		if (ptl_symbols_get(table, i).type == type)
			return true;
	return false;
}

/*
 * Asks servers for a table with local functions. A table without local functions only has dynamic symbols: the recorded
 * file had no other symbols. Called only if the user enabled servers.
 */
static struct ptl_symbol_table *ask_for_more(const struct ptl_image_event *image, struct ptl_symbol_table *table)
{
	struct ptl_symbol_table *more;

	if (has_type(table, 't'))
		return table;
	more = flow_symbols_from_file(image, false);
	if (!more || !has_type(more, 't')) {
		ptl_symbols_free(more);
		return table;
	}
	ptl_symbols_free(table);
	return more;
}

static int decode_blob(const struct flow_symbols *symbols, const uint8_t *hash, struct ptl_symbol_table **table)
{
	uint8_t *data;
	size_t size;
	int status = ptl_blob_read(symbols->trace, hash, TABLE_MAX, &data, &size);

	if (status == 0) {
		status = ptl_symbols_decode(data, size, table);
		free(data);
	}
	return status;
}

/*
 * Reads the symbol table of an image. Folders of debug files come first, then the trace, then this machine. Returns
 * NULL if the blob is unreadable, or the file is missing.
 */
static struct ptl_symbol_table *read_table(struct flow_symbols *symbols, const struct ptl_image_event *image)
{
	struct ptl_symbol_table *table = NULL;

	if (elf_debug_path_given())
		table = flow_symbols_from_file(image, true);
	if (!table && !image->has_symbols)
		table = flow_symbols_from_file(image, false);
	if (table || !image->has_symbols)
		return table;
	if (decode_blob(symbols, image->symbols, &table) < 0) {
		symbols->unreadable++;
		return NULL;
	}
	return elf_debuginfod_enabled() ? ask_for_more(image, table) : table;
}

static struct ptl_symbol_table *table_of_list(const struct ptl_symbol *list, size_t count)
{
	struct ptl_symbol_table *table = NULL;
	struct ptl_bytes bytes = {0};

	if (ptl_symbols_encode(list, count, &bytes) < 0 || ptl_symbols_decode(bytes.data, bytes.size, &table) < 0)
		table = NULL;
	common_bytes_free(&bytes);
	return table;
}

static size_t add_of_type(struct ptl_symbol *list, size_t count, const struct ptl_symbol_table *table, uint8_t type)
{
	for (size_t i = 0; i < ptl_symbols_count(table); i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);

		if (!type || symbol.type == type)
			list[count++] = symbol;
	}
	return count;
}

/* Joins both tables. The joined table replaces `table`; without memory, `table` stays unchanged. */
static struct ptl_symbol_table *with_stubs(struct ptl_symbol_table *table, const struct ptl_symbol_table *other)
{
	struct ptl_symbol *list = calloc(ptl_symbols_count(table) + ptl_symbols_count(other) + 1, sizeof(*list));
	struct ptl_symbol_table *both = NULL;

	if (list)
		both = table_of_list(list, add_of_type(list, add_of_type(list, 0, table, 0), other, 'P'));
	free(list);
	if (both)
		ptl_symbols_free(table);
	return both ? both : table;
}

/* Adds the PLT entries of the executed file's table. A debug file does not name PLT entries. */
static struct ptl_symbol_table *keep_stubs(const struct flow_symbols *symbols, const struct ptl_image_event *reported,
					   struct ptl_symbol_table *table)
{
	struct ptl_symbol_table *own = NULL;

	if (has_type(table, 'P') || decode_blob(symbols, reported->symbols, &own) < 0)
		return table;
	if (has_type(own, 'P'))
		table = with_stubs(table, own);
	ptl_symbols_free(own);
	return table;
}

static void *make_table(void *context, const struct ptl_image_event *image, const struct ptl_image_event *reported,
			const struct flow_made_layer *made)
{
	const bool other = elf_debug_path_given() || elf_debuginfod_enabled() ||
			   memcmp(image->symbols, reported->symbols, sizeof(image->symbols)) != 0;
	struct ptl_symbol_table *table;

	if (made)
		return table_of_list(made->symbols, made->count);
	table = read_table(context, image);
	return table && other && reported->has_symbols ? keep_stubs(context, reported, table) : table;
}

static const uint8_t *blob_of(const struct ptl_image_event *image)
{
	return image->has_symbols ? image->symbols : NULL;
}

static void attach(struct ptl_image_event *image, const uint8_t *hash)
{
	image->has_symbols = true;
	memcpy(image->symbols, hash, sizeof(image->symbols));
}

static void free_table(void *table)
{
	ptl_symbols_free(table);
}

int flow_symbols_open(struct ptl_trace *trace, const struct flow_timeline *timeline, enum flow_names names,
		      struct flow_symbols **result)
{
	static const struct flow_image_tables_kind kind = {.blob = blob_of,
							   .make = make_table,
							   .free = free_table,
							   .attachment = PTL_ATTACHMENT_SYMBOLS,
							   .attach = attach};
	struct flow_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return common_fail_memory("symbols", sizeof(*symbols));
	symbols->trace = trace;
	symbols->names = names;
	if (flow_image_tables_open(&symbols->tables, &kind, symbols, trace, timeline) < 0) {
		free(symbols);
		return PTL_NO_MEMORY;
	}
	*result = symbols;
	return 0;
}

void flow_symbols_close(struct flow_symbols *symbols)
{
	if (!symbols)
		return;
	flow_image_tables_close(&symbols->tables);
	free(symbols);
}

/* Without memory, names are missing; such failures count, too. */
size_t flow_symbols_unreadable(const struct flow_symbols *symbols)
{
	return symbols->unreadable + symbols->tables.failed + flow_timeline_made_unreadable(symbols->tables.timeline);
}

size_t flow_symbols_replaced(const struct flow_symbols *symbols)
{
	return flow_timeline_made_replaced(symbols->tables.timeline);
}

const struct ptl_symbol_table *flow_symbols_table(struct flow_symbols *symbols, const struct ptl_image_event *image)
{
	return flow_image_tables_of(&symbols->tables, image);
}

uint64_t flow_image_address(const struct flow_timeline_image *image, uint64_t address)
{
	return address - image->data.base + image->data.default_base;
}

bool flow_symbols_find(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol *result)
{
	const struct ptl_symbol_table *table;
	struct ptl_symbol symbol;
	uint64_t own;

	table = flow_image_tables_get(&symbols->tables, image);
	if (!table)
		return false;
	own = flow_image_address(flow_timeline_image(symbols->tables.timeline, image), address);
	symbol = ptl_symbols_find(table, own);
	if (!symbol.name || !*symbol.name)
		return false;
	*result = (struct flow_symbol){symbol.name, own - symbol.address, symbol.size};
	return true;
}

/* Returns the index behind the last symbol at or below an address of the file. */
static size_t behind(const struct ptl_symbol_table *table, uint64_t own)
{
	return COMMON_PARTITION(ptl_symbols_count(table), at, ptl_symbols_get(table, at).address <= own);
}

/* Reduces the span to addresses with equal results. The span is in the file's address space here. */
static void narrow(const struct ptl_symbol_table *table, uint64_t own, struct flow_symbol_span *span)
{
	const struct ptl_symbol found = ptl_symbols_find(table, own);
	const size_t next = behind(table, own);
	uint64_t first = 0;

	if (next < ptl_symbols_count(table) && ptl_symbols_get(table, next).address <= span->last)
		span->last = ptl_symbols_get(table, next).address - 1;
	if (next > 0) {
		const struct ptl_symbol nearest = ptl_symbols_get(table, next - 1);

		first = nearest.address;
		/*
		 * Behind the nearest symbol's end, an earlier symbol may cover the address. Then the result is valid
		 * for one address only.
		 */
		if (nearest.size && own - nearest.address >= nearest.size)
			first = found.name || ptl_symbols_find(table, first + nearest.size).name ? own
												 : first + nearest.size;
	}
	if (first > span->first)
		span->first = first;
	if (!found.name)
		return;
	if (found.size && found.size - 1 < span->last - found.address)
		span->last = found.address + (found.size - 1);
	span->name = *found.name ? found.name : NULL;
	span->start = found.address;
	span->type = found.type;
}

bool flow_symbols_span(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol_span *span)
{
	const struct ptl_image_event *data;
	const struct ptl_symbol_table *table;
	uint64_t shift;

	if (image >= symbols->tables.image_count)
		return false;
	data = &flow_timeline_image(symbols->tables.timeline, image)->data;
	if (address - data->base >= data->size)
		return false;
	table = flow_image_tables_get(&symbols->tables, image);
	shift = data->base - data->default_base;
	*span = (struct flow_symbol_span){.first = data->default_base, .last = data->default_base + (data->size - 1)};
	if (table)
		narrow(table, address - shift, span);
	span->first += shift;
	span->last += shift;
	span->start += shift;
	/* The image extends beyond the end of the file's address space. */
	if (address < span->first || address > span->last)
		span->first = span->last = address;
	return true;
}

bool flow_symbols_lowest(struct flow_symbols *symbols, uint32_t image, const char *name, size_t name_size,
			 uint64_t *address)
{
	const struct ptl_symbol_table *table;
	const struct ptl_image_event *data;

	table = flow_image_tables_get(&symbols->tables, image);
	if (!table)
		return false;
	data = &flow_timeline_image(symbols->tables.timeline, image)->data;
	for (size_t i = 0; i < ptl_symbols_count(table); i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);

		if (strncmp(symbol.name, name, name_size) != 0 || symbol.name[name_size])
			continue;
		*address = symbol.address + (data->base - data->default_base);
		return true;
	}
	return false;
}

static void add_name(const char *name, enum flow_names names, struct ptl_bytes *text)
{
	struct ptl_bytes plain = {0};

	if (names == FLOW_NAMES_LINKER || !elf_demangle(name, &plain))
		common_text_add(text, name);
	else if (names == FLOW_NAMES_SHORT)
		query_short_name(common_text_string(&plain), text);
	else
		common_write_bytes(text, plain.data, plain.size);
	common_bytes_free(&plain);
}

void flow_symbols_name(const struct flow_symbols *symbols, const char *name, struct ptl_bytes *text)
{
	add_name(name, symbols->names == FLOW_NAMES_LINKER ? FLOW_NAMES_LINKER : FLOW_NAMES_WHOLE, text);
}

void flow_symbols_shown_name(const struct flow_symbols *symbols, const char *name, struct ptl_bytes *text)
{
	add_name(name, symbols->names, text);
}

/* Appends a name with an offset: "deflate+0x1f". */
static void add_symbol(const struct flow_symbols *symbols, const struct flow_symbol *symbol, struct ptl_bytes *text)
{
	struct ptl_bytes name = {0};

	flow_symbols_shown_name(symbols, symbol->name, &name);
	text->failed |= name.failed;
	common_text_safe_n(text, name.data, name.size);
	common_bytes_free(&name);
	if (symbol->offset) {
		common_text_add(text, "+0x");
		common_text_hex(text, symbol->offset);
	}
}

void flow_symbols_image(struct flow_symbols *symbols, uint32_t image, struct ptl_bytes *text)
{
	if (image < symbols->tables.image_count)
		common_text_safe(
			text, common_base_name(flow_timeline_image(symbols->tables.timeline, image)->data.file_name));
	else
		common_text_add(text, "[no image]");
}

void flow_symbols_symbol(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text)
{
	struct flow_symbol symbol;

	if (image >= symbols->tables.image_count) {
		common_text_add(text, "-");
	} else if (flow_symbols_find(symbols, image, address, &symbol)) {
		add_symbol(symbols, &symbol, text);
	} else {
		common_text_add(text, "+0x");
		common_text_hex(text,
				flow_image_address(flow_timeline_image(symbols->tables.timeline, image), address));
	}
}

void flow_symbols_text(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text)
{
	if (image >= symbols->tables.image_count) {
		common_text_add(text, "[no image]");
		return;
	}
	flow_symbols_symbol(symbols, image, address, text);
	common_text_add(text, " (");
	flow_symbols_image(symbols, image, text);
	common_text_add(text, ")");
}

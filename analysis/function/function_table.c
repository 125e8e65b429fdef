/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers functions by file and address, so numbers are equal in all processes. */
#include "analysis/function/function_table.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/text.h"
#include "query/function_name.h"

/* Chunks of functions never move, so a reader with a valid number needs no lock. */
#define CHUNK_BITS 12
#define CHUNK_SIZE ((size_t)1 << CHUNK_BITS)
#define CHUNKS 4096

#define NO_FILE UINT32_MAX

struct analysis_function_table {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	uint32_t *file_of_image; /* number of the file; images of the same file have the same number */
	pthread_mutex_t lock;    /* protects the members below */
	struct common_byte_map by_key;
	struct analysis_function *chunks[CHUNKS];
	size_t count;
};

/* ---- files --------------------------------------------------------------------------------------- */

static int number_files(struct analysis_function_table *table)
{
	const size_t count = flow_timeline_image_count(table->timeline);
	struct common_byte_map files = {0};
	struct ptl_bytes key = {0};
	int status = 0;

	table->file_of_image = calloc(count + 1, sizeof(*table->file_of_image));
	if (!table->file_of_image)
		return common_fail_memory("images", count * sizeof(*table->file_of_image));
	for (size_t i = 0; !status && i < count; i++) {
		const struct flow_timeline_image *image = flow_timeline_image(table->timeline, i);
		const bool nameless = !strncmp(image->data.file_name, "//", 2) || !*image->data.file_name;
		const uint64_t *known;

		key.size = 0;
		common_write_bytes(&key, image->data.build_id, image->data.build_id_size);
		common_write_bytes(&key, image->data.file_name, strlen(image->data.file_name));
		/* Code of a compiler has one path; later functions at an address have other symbols. */
		if (!image->data.build_id_size && image->data.has_symbols)
			common_write_bytes(&key, image->data.symbols, PTL_HASH_SIZE);
		/* Memory without a file differs from process to process. */
		common_write_le(&key, nameless ? image->process : FLOW_NONE, 4);
		common_write_le(&key, image->layer, 4);
		if (key.failed) {
			status = common_fail_memory("images", key.size);
			break;
		}
		known = common_byte_map_get(&files, key.data, key.size);
		table->file_of_image[i] = known ? (uint32_t)*known : (uint32_t)i;
		if (!known)
			status = common_byte_map_put(&files, key.data, key.size, i);
	}
	common_bytes_free(&key);
	common_byte_map_free(&files);
	return status;
}

int analysis_functions_open(const struct flow_timeline *timeline, struct flow_symbols *symbols,
			    struct analysis_function_table **result)
{
	struct analysis_function_table *table = calloc(1, sizeof(*table));
	int status;

	if (!table)
		return common_fail_memory("functions", sizeof(*table));
	table->timeline = timeline;
	table->symbols = symbols;
	pthread_mutex_init(&table->lock, NULL);
	status = number_files(table);
	if (status < 0) {
		analysis_functions_close(table);
		return status;
	}
	*result = table;
	return 0;
}

void analysis_functions_close(struct analysis_function_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		free((void *)(uintptr_t)table->chunks[i >> CHUNK_BITS][i & (CHUNK_SIZE - 1)].name);
	for (size_t i = 0; i < CHUNKS && table->chunks[i]; i++)
		free(table->chunks[i]);
	common_byte_map_free(&table->by_key);
	free(table->file_of_image);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

/* ---- kinds --------------------------------------------------------------------------------------- */

struct kind {
	const char *pattern;
	unsigned flags;
};

/* Symbol names as in symbol tables. */
static const struct kind kinds[] = {
	{"*@plt", ANALYSIS_FUNCTION_STUB},
	{"_dl_runtime_resolve*", ANALYSIS_FUNCTION_STUB},
	{"setjmp", ANALYSIS_FUNCTION_TWICE},
	{"_setjmp", ANALYSIS_FUNCTION_TWICE},
	{"__setjmp", ANALYSIS_FUNCTION_TWICE},
	{"sigsetjmp", ANALYSIS_FUNCTION_TWICE},
	{"__sigsetjmp", ANALYSIS_FUNCTION_TWICE},
	{"savectx", ANALYSIS_FUNCTION_TWICE},
	{"getcontext", ANALYSIS_FUNCTION_TWICE},
	{"__getcontext", ANALYSIS_FUNCTION_TWICE},
	{"swapcontext", ANALYSIS_FUNCTION_SWITCH},
	{"__swapcontext", ANALYSIS_FUNCTION_SWITCH},
	{"setcontext", ANALYSIS_FUNCTION_SWITCH | ANALYSIS_FUNCTION_JUMPS},
	{"__setcontext", ANALYSIS_FUNCTION_SWITCH | ANALYSIS_FUNCTION_JUMPS},
	{"longjmp", ANALYSIS_FUNCTION_JUMPS},
	{"_longjmp", ANALYSIS_FUNCTION_JUMPS},
	{"siglongjmp", ANALYSIS_FUNCTION_JUMPS},
	{"__longjmp_chk", ANALYSIS_FUNCTION_JUMPS},
	{"__libc_longjmp", ANALYSIS_FUNCTION_JUMPS},
	{"__libc_siglongjmp", ANALYSIS_FUNCTION_JUMPS},
	{"jump_fcontext", ANALYSIS_FUNCTION_SWITCH},
	{"ontop_fcontext", ANALYSIS_FUNCTION_SWITCH},
	{"_cl_jump*", ANALYSIS_FUNCTION_SWITCH},
	{"co_switch*", ANALYSIS_FUNCTION_SWITCH},
	{"runtime.mcall", ANALYSIS_FUNCTION_PARKS},
	{"runtime.mcall.abi0", ANALYSIS_FUNCTION_PARKS},
	{"runtime.morestack", ANALYSIS_FUNCTION_PARKS},
	{"runtime.morestack.abi0", ANALYSIS_FUNCTION_PARKS},
	{"runtime.gogo", ANALYSIS_FUNCTION_SWITCH},
	{"runtime.gogo.abi0", ANALYSIS_FUNCTION_SWITCH},
	{"gogo", ANALYSIS_FUNCTION_SWITCH},
	{"_Unwind_RaiseException", ANALYSIS_FUNCTION_UNWINDS},
	{"_Unwind_Resume", ANALYSIS_FUNCTION_UNWINDS},
	{"_Unwind_Resume_or_Rethrow", ANALYSIS_FUNCTION_UNWINDS},
	{"_Unwind_ForcedUnwind", ANALYSIS_FUNCTION_UNWINDS},
	{"_Unwind_Find_FDE", ANALYSIS_FUNCTION_FINDER},
	{"__x86_indirect_thunk_*", ANALYSIS_FUNCTION_THUNK},
	{"__x86_return_thunk*", ANALYSIS_FUNCTION_THUNK},
	{"__llvm_retpoline_*", ANALYSIS_FUNCTION_THUNK},
};

static unsigned flags_of(const struct flow_symbol_span *span)
{
	if (span->type == 'P')
		return ANALYSIS_FUNCTION_STUB;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char first = kinds[i].pattern[0];

		/* Cheap test: the first letter of most names differs from the pattern's. */
		if ((first == '*' || first == span->name[0]) && fnmatch(kinds[i].pattern, span->name, 0) == 0)
			return kinds[i].flags;
	}
	return 0;
}

/* Returns the length of the function's own name. Compilers move unlikely code to a separate part, "foo.cold". */
static size_t size_of_whole(const char *name)
{
	const char *cold = strstr(name, ".cold");

	if (cold && cold > name && (cold[5] == '\0' || cold[5] == '.'))
		return (size_t)(cold - name);
	return strlen(name);
}

void analysis_function_add_name(const struct flow_symbols *symbols, const char *name, size_t size,
				void (*add)(const struct flow_symbols *symbols, const char *name,
					    struct ptl_bytes *text),
				struct ptl_bytes *text)
{
	const char *at = strchr(name, '@');
	char *linker_name = strndup(name, at && at > name ? (size_t)(at - name) : size);

	text->failed |= !linker_name;
	if (linker_name)
		add(symbols, linker_name, text);
	free(linker_name);
}

/* Returns the whole name and the shown name, one behind the other; NULL without memory. */
static char *make_names(struct analysis_function_table *table, const char *name, size_t size)
{
	struct ptl_bytes text = {0};

	analysis_function_add_name(table->symbols, name, size, flow_symbols_name, &text);
	common_write_bytes(&text, "", 1);
	analysis_function_add_name(table->symbols, name, size, flow_symbols_shown_name, &text);
	common_write_bytes(&text, "", 1);
	if (!text.failed)
		return (char *)text.data;
	common_bytes_free(&text);
	return NULL;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

struct key {
	uint32_t file;
	uint32_t process; /* only for code without a file */
	uint64_t address;
};

static int add_function(struct analysis_function_table *table, const struct key *key, uint32_t image, const char *name,
			size_t size, unsigned flags, uint32_t *number)
{
	struct analysis_function **chunk = &table->chunks[table->count >> CHUNK_BITS];
	const char *path = image == FLOW_NONE ? "" : flow_timeline_image(table->timeline, image)->data.file_name;
	char *own = name ? make_names(table, name, size) : calloc(1, 2);
	int status;

	if (!*chunk)
		*chunk = calloc(CHUNK_SIZE, sizeof(**chunk));
	if (!own || !*chunk) {
		free(own);
		return common_fail_memory("functions", CHUNK_SIZE * sizeof(**chunk));
	}
	status = common_byte_map_put(&table->by_key, key, sizeof(*key), table->count);
	if (status < 0) {
		free(own);
		return status;
	}
	(*chunk)[table->count & (CHUNK_SIZE - 1)] = (struct analysis_function){
		.name = own,
		.shown = own + strlen(own) + 1,
		.path = path,
		.image = image == FLOW_NONE ? "[no image]" : common_base_name(path),
		.place = image,
		.address = flags & ANALYSIS_FUNCTION_UNKNOWN ? 0 : key->address,
		.flags = flags,
	};
	*number = (uint32_t)table->count++;
	return 0;
}

/* name: NULL for a nameless function. */
static int function_number_of(struct analysis_function_table *table, const struct key *key, uint32_t image,
			      const char *name, size_t size, unsigned flags, uint32_t *number)
{
	const uint64_t *known;
	int status = 0;

	pthread_mutex_lock(&table->lock);
	known = common_byte_map_get(&table->by_key, key, sizeof(*key));
	if (known)
		*number = (uint32_t)*known;
	else if (table->count == CHUNKS * CHUNK_SIZE)
		*number = ANALYSIS_NO_FUNCTION;
	else
		status = add_function(table, key, image, name, size, flags, number);
	pthread_mutex_unlock(&table->lock);
	return status;
}

int analysis_functions_place(struct analysis_function_table *table, uint32_t image, uint64_t address,
			     struct analysis_code_place *place)
{
	struct flow_symbol_span span;
	struct key key = {.process = FLOW_NONE};
	size_t size;
	uint64_t start;

	*place = (struct analysis_code_place){
		.first = address, .last = address, .start = address, .image = image, .function = ANALYSIS_NO_FUNCTION};
	if (!flow_symbols_span(table->symbols, image, address, &span))
		return 0;
	place->first = span.first;
	place->last = span.last;
	if (!span.type)
		return 0;
	place->start = start = span.start;
	key.file = table->file_of_image[image];
	key.address = flow_image_address(flow_timeline_image(table->timeline, image), start);
	if (!span.name)
		return function_number_of(table, &key, image, NULL, 0, ANALYSIS_FUNCTION_NAMELESS, &place->function);
	size = size_of_whole(span.name);
	if (span.name[size]) {
		/* The address is in a cold part, where no function begins. */
		place->start = span.first - 1;
		flow_symbols_lowest(table->symbols, image, span.name, size, &start);
		key.address = flow_image_address(flow_timeline_image(table->timeline, image), start);
	}
	place->flags = flags_of(&span);
	return function_number_of(table, &key, image, span.name, size, place->flags, &place->function);
}

int analysis_functions_nameless(struct analysis_function_table *table, uint32_t process, uint32_t image,
				uint64_t address, uint32_t *function)
{
	const bool has_image = image != FLOW_NONE;
	const struct key key = {
		.file = has_image ? table->file_of_image[image] : NO_FILE,
		.process = has_image ? FLOW_NONE : process,
		.address = has_image ? flow_image_address(flow_timeline_image(table->timeline, image), address)
				     : address,
	};

	return function_number_of(table, &key, image, NULL, 0, ANALYSIS_FUNCTION_NAMELESS, function);
}

int analysis_functions_unknown(struct analysis_function_table *table, uint32_t image, uint32_t *function)
{
	const struct key key = {.file = table->file_of_image[image], .process = FLOW_NONE, .address = UINT64_MAX};

	return function_number_of(table, &key, image, NULL, 0, ANALYSIS_FUNCTION_NAMELESS | ANALYSIS_FUNCTION_UNKNOWN,
				  function);
}

static const struct analysis_function no_function = {
	.name = "[unknown]", .shown = "[unknown]", .path = "", .image = "[no image]", .place = FLOW_NONE};

const struct analysis_function *analysis_function(const struct analysis_function_table *table, uint32_t function)
{
	if (function == ANALYSIS_NO_FUNCTION)
		return &no_function;
	return &table->chunks[function >> CHUNK_BITS][function & (CHUNK_SIZE - 1)];
}

size_t analysis_functions_count(struct analysis_function_table *table)
{
	size_t count;

	pthread_mutex_lock(&table->lock);
	count = table->count;
	pthread_mutex_unlock(&table->lock);
	return count;
}

/* ---- display ------------------------------------------------------------------------------------- */

void analysis_function_text(const struct analysis_function *function, struct ptl_bytes *text)
{
	if (*function->name) {
		common_text_safe(text, function->shown);
		return;
	}
	if (function->flags & ANALYSIS_FUNCTION_UNKNOWN) {
		common_text_add(text, "[no symbol]");
		return;
	}
	common_text_add(text, *function->path ? "+0x" : "0x");
	common_text_hex(text, function->address);
}

void analysis_function_json(struct common_json *json, const struct analysis_function *function)
{
	const bool named = *function->name && function != &no_function;

	common_json_string(json, "function", named ? function->name : NULL);
	common_json_string(json, "image", *function->path ? function->path : NULL);
	common_json_hex(json, "address", function->address);
}

bool analysis_function_matches(const struct analysis_function *function, const char *pattern)
{
	struct ptl_bytes text = {0};
	bool matches;

	if (*function->name)
		common_text_safe(&text, function->name);
	else
		analysis_function_text(function, &text);
	matches = query_function_is_called(common_text_string(&text), pattern);
	common_bytes_free(&text);
	return matches;
}

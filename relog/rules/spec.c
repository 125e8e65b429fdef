/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates the body of an image: ranges, sections, and code and symbols from files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "relog/rules/edit.h"
#include "relog/rules/images.h"
#include "relog/rules/symbols.h"

#define PROTECTION_EXECUTE 4u

static int property_number_of(const struct query_scope *scope, struct query_expr *const *values,
			      enum rules_property property, uint64_t otherwise, uint64_t *number)
{
	return query_evaluate_number(scope, values[property], UINT64_MAX, otherwise, number);
}

/* ---- parts ------------------------------------------------------------------------------- */

static int add_part(struct rules_run *run, struct rules_spec *spec, const struct rules_part *part,
		    struct query_place at)
{
	if (!part->size || part->rva >= spec->size || part->size > spec->size - part->rva)
		return query_fail_at(run->rules->name, at,
				     "expected a section of 1 byte or more within the image of %#llx bytes, "
				     "found %#llx bytes at %#llx",
				     (unsigned long long)spec->size, (unsigned long long)part->size,
				     (unsigned long long)part->rva);
	for (size_t i = 0; i < spec->part_count; i++) {
		const struct rules_part *other = &spec->parts[i];

		if (part->rva < other->rva + other->size && other->rva < part->rva + part->size)
			return query_fail_at(run->rules->name, at,
					     "expected sections that do not overlap, found two at %#llx and %#llx",
					     (unsigned long long)other->rva, (unsigned long long)part->rva);
	}
	if (spec->part_count == RULES_PARTS_MAX)
		return query_fail_at(run->rules->name, at, "expected at most %u executable sections, found more",
				     RULES_PARTS_MAX);
	if (part->protection & PROTECTION_EXECUTE)
		spec->parts[spec->part_count++] = *part;
	return 0;
}

static int evaluate_part(struct rules_run *run, const struct query_scope *scope, struct query_expr *const *values,
			 struct rules_spec *spec, struct query_place at)
{
	struct rules_part part;
	uint64_t protection;
	int status = property_number_of(scope, values, RULES_PROPERTY_RVA, 0, &part.rva);

	if (!status)
		status = property_number_of(scope, values, RULES_PROPERTY_FILE_OFFSET, 0, &part.file_offset);
	if (!status)
		status = property_number_of(scope, values, RULES_PROPERTY_SIZE, 0, &part.size);
	if (!status)
		status = query_evaluate_number(scope, values[RULES_PROPERTY_PROTECTION], 7, 5, &protection);
	if (status < 0)
		return status;
	part.protection = (uint32_t)protection;
	return add_part(run, spec, &part, at);
}

/* Evaluates a section for each element of an array. */
static int evaluate_each(struct rules_run *run, const struct query_scope *scope, const struct rules_section *section,
			 struct rules_spec *spec)
{
	uint32_t count, next = 0;
	bool there;
	int status = scope->elements(scope->context, section->loop.array, &count, &there);

	if (!status && !there)
		return rules_edit_lacks(run, section->loop.array);
	while (query_next_element(scope, &section->loop, count, &next, &status))
		status = evaluate_part(run, scope, section->property, spec, section->at);
	return status;
}

static int evaluate_parts(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			  struct rules_spec *spec)
{
	int status = 0;

	spec->parts = common_arena_zeroed(&run->scratch, RULES_PARTS_MAX * sizeof(*spec->parts));
	if (!spec->parts)
		return PTL_NO_MEMORY;
	if (spec->whole_map) {
		spec->parts[spec->part_count++] = (struct rules_part){0, spec->size, 0, 5};
		return 0;
	}
	if (!body->sections)
		return evaluate_part(run, scope, body->property, spec, body->at);
	for (const struct rules_section *s = body->sections; !status && s; s = s->next)
		status = s->has_loop ? evaluate_each(run, scope, s, spec)
				     : evaluate_part(run, scope, s->property, spec, s->at);
	if (!status && !spec->part_count)
		return query_fail_at(run->rules->name, body->at, "expected an executable section, found none");
	return status;
}

/* ---- code -------------------------------------------------------------------------------- */

/* Writes bytes of a file as a blob, without reading all bytes to memory. */
static int store_file(struct rules_run *run, uint32_t type, const char *path, uint64_t offset, uint64_t size,
		      uint8_t hash[PTL_HASH_SIZE])
{
	int fd, status = query_files_open(&run->files, path, &fd);

	if (status < 0)
		return status;
	status = run->output.blob_file(run->output.context, type, fd, offset, size, hash);
	close(fd);
	return status < 0 ? common_fail_in(status, "%s", path) : 0;
}

int rules_spec_code(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
		    const struct rules_part *part, struct ptl_image_event *image)
{
	uint64_t offset = part->file_offset, start = 0, size = part->size, there = 0;
	const char *path;
	int status;

	if (body->code == RULES_CODE_CAPTURED)
		return 0;
	status = query_evaluate_text(scope, body->code_path, "", &path);
	if (!status && body->code == RULES_CODE_RAW) {
		status = query_evaluate_number(scope, body->code_offset, UINT64_MAX, 0, &start);
		if (__builtin_add_overflow(part->rva, start, &offset))
			offset = UINT64_MAX;
	}
	if (status < 0)
		return status;
	status = query_files_size(&run->files, path, &there);
	if (!status && offset >= there)
		return query_fail_at(run->rules->name, body->code_path->at,
				     "expected code at offset %#llx of %s, found that it has %#llx bytes",
				     (unsigned long long)offset, path, (unsigned long long)there);
	if (!status)
		/* A part may end with zeros that the file lacks. */
		status = store_file(run, PTL_BLOB_CODE, path, offset, size > there - offset ? there - offset : size,
				    image->code);
	if (status < 0)
		return common_fail_in(status, "%s:%u:%u", run->rules->name, body->code_path->at.line,
				      body->code_path->at.column);
	image->has_code = true;
	return 0;
}

/* ---- symbols ----------------------------------------------------------------------------- */

/* In the name of a perf map, replaces %p by the process id, and %% by a percent sign. */
static const char *with_pid(struct rules_run *run, const char *path, uint32_t pid)
{
	struct ptl_bytes out = {0};
	char number[16], *copy;

	snprintf(number, sizeof(number), "%u", pid);
	for (const char *p = path; *p; p++) {
		if (*p == '%' && p[1] == 'p')
			common_write_bytes(&out, number, strlen(number));
		else
			common_write_bytes(&out, p, 1);
		p += *p == '%' && (p[1] == 'p' || p[1] == '%');
	}
	copy = out.failed ? NULL : common_arena_copy(&run->scratch, out.data, out.size);
	common_bytes_free(&out);
	return copy;
}

/*
 * Determines the address in the symbol file that corresponds to the image's base. *lowest: default of ELF files, the
 * lowest loaded address.
 */
static int base_in_file(const struct query_scope *scope, const struct rules_body *body, const struct rules_spec *spec,
			bool *lowest, uint64_t *base)
{
	*lowest = body->symbols == RULES_SYMBOLS_ELF && body->addressing == RULES_ADDRESS_DEFAULT;
	*base = body->symbols == RULES_SYMBOLS_PERF_MAP ? spec->base : 0;
	if (body->addressing == RULES_ADDRESS_ABSOLUTE)
		*base = spec->base;
	else if (body->addressing == RULES_ADDRESS_RELATIVE)
		*base = 0;
	else if (body->addressing == RULES_ADDRESS_FROM)
		return query_evaluate_number(scope, body->symbols_base, UINT64_MAX, 0, base);
	return 0;
}

static int read_list(struct rules_run *run, const struct rules_body *body, const char *path, bool lowest,
		     struct elf_symbol_list *list)
{
	struct elf_symbol_source source = {0};
	int status = query_files_open(&run->files, path, &source.fd);

	if (status < 0)
		return status;
	status = body->symbols == RULES_SYMBOLS_NM         ? elf_symbols_nm(path, &source, list)
		 : body->symbols == RULES_SYMBOLS_PERF_MAP ? elf_symbols_perf_map(path, &source, list)
							   : rules_symbols_elf(path, &source, lowest, list);
	close(source.fd);
	return status;
}

static void warn_of_none(const struct rules_run *run, const struct rules_body *body, const char *path,
			 const struct rules_spec *spec)
{
	char text[512];

	snprintf(text, sizeof(text), "%s:%u:%u: no symbol of %s lies in the image at %#llx", run->rules->name,
		 body->symbols_path->at.line, body->symbols_path->at.column, path, (unsigned long long)spec->base);
	if (run->output.warning)
		run->output.warning(run->output.context, text);
}

/* Makes a symbol table of one function, which is the whole image. An empty name makes none. */
static int name_whole_image(struct rules_run *run, const struct query_scope *scope, const struct query_expr *expr,
			    struct rules_spec *spec)
{
	struct ptl_symbol symbol = {.address = spec->default_base, .size = spec->size, .type = 'T'};
	struct ptl_bytes encoded = {0};
	int status = query_evaluate_text(scope, expr, "", &symbol.name);

	if (status < 0 || !*symbol.name)
		return status;
	if (strlen(symbol.name) > ELF_SYMBOL_NAME_MAX)
		return query_fail_at(run->rules->name, expr->at, "expected a name of at most %u bytes, found %zu bytes",
				     ELF_SYMBOL_NAME_MAX, strlen(symbol.name));
	status = ptl_symbols_encode(&symbol, 1, &encoded);
	if (!status)
		status = run->output.blob(run->output.context, PTL_BLOB_SYMBOLS, encoded.data, encoded.size,
					  spec->image.symbols);
	spec->image.has_symbols = !status;
	common_bytes_free(&encoded);
	return status;
}

static int make_table(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
		      const char *path, struct rules_spec *spec)
{
	struct elf_symbol_list list = {.size = spec->whole_map ? 0 : spec->size, .limit = RULES_SYMBOLS_MAX};
	struct ptl_bytes encoded = {0};
	bool lowest = false;
	int status = spec->whole_map ? 0 : base_in_file(scope, body, spec, &lowest, &list.base);

	if (status < 0)
		return status;
	status = read_list(run, body, path, lowest, &list);
	if (!status)
		status = rules_symbols_encode(&list, spec->whole_map ? 0 : spec->default_base, &encoded);
	if (status < 0)
		status = common_fail_in(status, "%s:%u:%u", run->rules->name, body->symbols_path->at.line,
					body->symbols_path->at.column);
	else if (!encoded.size)
		warn_of_none(run, body, path, spec);
	elf_symbol_list_free(&list);
	if (!status && encoded.size) {
		spec->image.has_symbols = true;
		status = run->output.blob(run->output.context, PTL_BLOB_SYMBOLS, encoded.data, encoded.size,
					  spec->image.symbols);
	}
	common_bytes_free(&encoded);
	return status;
}

/* Caches a symbol table: a plugin may be loaded a thousand times. */
static int remember_symbols(struct rules_run *run, const struct ptl_bytes *key, const struct ptl_image_event *image)
{
	struct rules_images *images = run->images;
	uint8_t *hash;

	if (key->failed || !common_vector_room(&images->hashes, images->hash_count, sizeof(*images->hashes)))
		return common_fail_memory("symbols", (images->hash_count + 1) * sizeof(*images->hashes));
	hash = images->hashes[images->hash_count];
	memcpy(hash, image->symbols, PTL_HASH_SIZE);
	hash[PTL_HASH_SIZE] = image->has_symbols;
	return common_byte_map_put(&images->tables, key->data, key->size, images->hash_count++);
}

int rules_spec_symbols_path(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			    uint32_t pid, const char **path)
{
	int status = query_evaluate_text(scope, body->symbols_path, "", path);

	if (!status && body->symbols == RULES_SYMBOLS_PERF_MAP)
		*path = with_pid(run, *path, pid);
	return !status && !*path ? PTL_NO_MEMORY : status;
}

static int find_symbols(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			struct rules_spec *spec)
{
	struct ptl_bytes key = {0};
	const uint64_t *known;
	const char *path;
	int status;

	if (body->property[RULES_PROPERTY_SYMBOL])
		return name_whole_image(run, scope, body->property[RULES_PROPERTY_SYMBOL], spec);
	if (body->symbols == RULES_SYMBOLS_NONE)
		return 0;
	status = rules_spec_symbols_path(run, scope, body, spec->pid, &path);
	if (status < 0)
		return status;
	common_write_le(&key, (uintptr_t)body, 8);
	/* All memory of a whole perf map shares one table. */
	common_write_le(&key, spec->whole_map ? 0 : spec->base, 8);
	common_write_le(&key, spec->whole_map ? 0 : spec->size, 8);
	common_write_le(&key, spec->whole_map ? 0 : spec->default_base, 8);
	common_write_bytes(&key, path, strlen(path));
	known = key.failed ? NULL : common_byte_map_get(&run->images->tables, key.data, key.size);
	if (known) {
		memcpy(spec->image.symbols, run->images->hashes[*known], PTL_HASH_SIZE);
		spec->image.has_symbols = run->images->hashes[*known][PTL_HASH_SIZE];
	} else {
		status = make_table(run, scope, body, path, spec);
		if (!status)
			status = remember_symbols(run, &key, &spec->image);
	}
	common_bytes_free(&key);
	return status;
}

/* ---- debug file, build id, and the whole ------------------------------------------------- */

static int find_debug(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
		      struct rules_spec *spec)
{
	const struct query_expr *expr = body->property[RULES_PROPERTY_DEBUG];
	uint64_t size;
	const char *path;
	int status = query_evaluate_text(scope, expr, NULL, &path);

	if (status < 0 || !path)
		return status;
	status = query_files_size(&run->files, path, &size);
	if (!status && !size)
		return query_fail_at(run->rules->name, expr->at,
				     "expected an ELF file, found that %s is empty or no file", path);
	if (!status)
		status = store_file(run, PTL_BLOB_DEBUG, path, 0, size, spec->image.debug);
	if (status < 0)
		return common_fail_in(status, "%s:%u:%u", run->rules->name, expr->at.line, expr->at.column);
	spec->image.has_debug = true;
	return 0;
}

static int find_build_id(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			 struct rules_spec *spec)
{
	static const char digits[] = "0123456789abcdef";
	const struct query_expr *expr = body->property[RULES_PROPERTY_BUILD_ID];
	const char *text;
	size_t size;
	int status = query_evaluate_text(scope, expr, "", &text);

	if (status < 0 || !expr)
		return status;
	size = strlen(text);
	if (size % 2 || size / 2 > PTL_BUILD_ID_MAX || strspn(text, "0123456789abcdefABCDEF") != size)
		return query_fail_at(run->rules->name, expr->at,
				     "expected an even number of hexadecimal digits, at most %d, found \"%.80s\"",
				     2 * PTL_BUILD_ID_MAX, text);
	for (size_t i = 0; i < size; i++) {
		char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 0x20) : text[i];
		unsigned digit = (unsigned)(strchr(digits, c) - digits);

		spec->image.build_id[i / 2] = (uint8_t)(spec->image.build_id[i / 2] << 4 | digit);
	}
	spec->image.build_id_size = size / 2;
	return 0;
}

static int evaluate_range(const struct query_scope *scope, struct query_expr *const *values, struct rules_spec *spec)
{
	int status = property_number_of(scope, values, RULES_PROPERTY_BASE, 0, &spec->base);

	if (!status)
		status = property_number_of(scope, values, RULES_PROPERTY_SIZE, 0, &spec->size);
	if (!status)
		status = property_number_of(scope, values, RULES_PROPERTY_DEFAULT_BASE,
					    values[RULES_PROPERTY_SYMBOL] ? spec->base : 0, &spec->default_base);
	return status;
}

int rules_spec_evaluate(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			struct rules_spec *spec)
{
	struct query_expr *const *values = body->property;
	int status = spec->whole_map ? 0 : evaluate_range(scope, values, spec);

	if (!status && spec->whole_map && !values[RULES_PROPERTY_PATH])
		status = rules_spec_symbols_path(run, scope, body, spec->pid, &spec->path);
	else if (!status)
		status = query_evaluate_text(scope, values[RULES_PROPERTY_PATH], "", &spec->path);
	if (status < 0)
		return status;
	if (!format_is_range(spec->base, spec->size))
		return query_fail_at(run->rules->name, values[RULES_PROPERTY_SIZE]->at,
				     "expected a size above 0 that stays in the address space, found %#llx bytes "
				     "at %#llx",
				     (unsigned long long)spec->size, (unsigned long long)spec->base);
	if (rules_is_nameless(spec->path))
		return query_fail_at(run->rules->name,
				     values[RULES_PROPERTY_PATH] ? values[RULES_PROPERTY_PATH]->at : body->at,
				     "expected a path, found \"%s\", which means that there is none", spec->path);
	status = evaluate_parts(run, scope, body, spec);
	if (!status)
		status = find_symbols(run, scope, body, spec);
	if (!status)
		status = find_debug(run, scope, body, spec);
	return status < 0 ? status : find_build_id(run, scope, body, spec);
}

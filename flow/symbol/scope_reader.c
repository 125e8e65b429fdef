/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the entries of a unit by libdw. */
#include "flow/symbol/scope_reader.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "elf/dwarf_text.h"

#define RANGES_MAX ((size_t)1 << 24)
#define DEPTH_MAX 256 /* maximum nesting of entries; real nesting reaches a few dozen */

/* ---- names of functions ---------------------------------------------------------------------------- */

/* Returns the interned text. "" for NULL, and without memory. */
static const char *intern(struct flow_scope_reader *reader, const char *text)
{
	const uint64_t *known;
	const char *copy;

	if (!text || !*text)
		return "";
	known = common_byte_map_get(&reader->names, text, strlen(text));
	if (known)
		return (const char *)(uintptr_t)*known;
	copy = common_arena_copy(&reader->arena, text, strlen(text));
	if (!copy || common_byte_map_put(&reader->names, text, strlen(text), (uintptr_t)copy) < 0) {
		reader->failed = true;
		return "";
	}
	return copy;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_attr_integrate(die, attribute, &found) ? elf_dwarf_text(&found) : NULL;
}

static const char *die_name_of(Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_linkage_name);

	if (!name)
		name = text_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : text_of(die, DW_AT_name);
}

/* Finds the common origin of all copies of a function. */
static void find_origin(Dwarf_Die *die, Dwarf_Die *origin)
{
	Dwarf_Attribute reference;

	*origin = *die;
	for (unsigned steps = 0; steps < DEPTH_MAX; steps++) {
		Dwarf_Die next;

		if (!dwarf_attr(origin, DW_AT_abstract_origin, &reference) || !dwarf_formref_die(&reference, &next))
			return;
		*origin = next;
	}
}

static Dwarf_Files *files_of(Dwarf_Die *unit)
{
	Dwarf_Files *files;

	return dwarf_getsrcfiles(unit, &files, NULL) == 0 ? files : NULL;
}

/*
 * Returns the file of an entry's declaration; NULL: unknown. dwarf_decl_file fails for two cases: file numbers begin
 * with 0 since DWARF 5, and the files of a .dwo file may be listed in the skeleton.
 */
static const char *file_of(const struct flow_scope_reader *reader, Dwarf_Die *die)
{
	Dwarf_Files *files = reader->files;
	Dwarf_Attribute attribute;
	Dwarf_Half version = 0;
	Dwarf_Word file;
	Dwarf_Die unit;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &file) != 0 ||
	    dwarf_cu_info(attribute.cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) != 0 || (!file && version < 5))
		return NULL;
	/* The entry may belong to another unit. */
	if (!reader->split)
		files = files_of(&unit);
	return files ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
}

static const struct flow_source_function *function_of(struct flow_scope_reader *reader, Dwarf_Die *die)
{
	struct flow_source_function *function;
	Dwarf_Die origin;
	uint64_t key;
	const uint64_t *known;
	int line = 0;

	find_origin(die, &origin);
	/* The address in memory is a unique key. Offsets are not unique, because an origin may lie in another file. */
	key = (uintptr_t)origin.addr;
	known = common_hash_map_get(&reader->functions, key);
	if (known)
		return (const struct flow_source_function *)(uintptr_t)*known;
	function = common_arena_zeroed(&reader->arena, sizeof(*function));
	if (!function || common_hash_map_put(&reader->functions, key, (uintptr_t)function) < 0) {
		reader->failed = true;
		return NULL;
	}
	function->name = intern(reader, die_name_of(&origin));
	function->file = intern(reader, file_of(reader, &origin));
	if (dwarf_decl_line(&origin, &line) == 0 && line > 0)
		function->line = (uint32_t)line;
	return function;
}

/* ---- addresses of functions ------------------------------------------------------------------------ */

static void find_call(struct flow_scope_reader *reader, Dwarf_Die *die, struct flow_scope *scope)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (reader->files && dwarf_attr(die, DW_AT_call_file, &attribute) && dwarf_formudata(&attribute, &value) == 0)
		scope->call_file = intern(reader, dwarf_filesrc(reader->files, value, NULL, NULL));
	if (dwarf_attr(die, DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &value) == 0 &&
	    value <= UINT32_MAX)
		scope->call_line = (uint32_t)value;
}

/* A walk over the address ranges of an entry. Zero at first. */
struct walk {
	ptrdiff_t at;
	Dwarf_Addr base;
	struct flow_split_walk split;
};

static bool next_range(const struct flow_scope_reader *reader, Dwarf_Die *die, struct walk *walk, Dwarf_Addr *first,
		       Dwarf_Addr *end)
{
	if (reader->split)
		return flow_split_range(reader->split, die, &walk->split, first, end);
	walk->at = dwarf_ranges(die, walk->at, &walk->base, first, end);
	return walk->at > 0;
}

/* Adds the scope of an entry. Returns the scope; for an entry without code, returns outer. */
static const struct flow_scope *add_scope(struct flow_scope_reader *reader, Dwarf_Die *die,
					  const struct flow_scope *outer, unsigned depth)
{
	struct flow_scope *scope = NULL;
	struct walk walk = {0};
	Dwarf_Addr first, end;

	while (!reader->failed && next_range(reader, die, &walk, &first, &end)) {
		if (first >= end)
			continue;
		if (!scope) {
			scope = common_arena_zeroed(&reader->arena, sizeof(*scope));
			if (scope)
				*scope = (struct flow_scope){function_of(reader, die), outer, "", 0, reader->by_llvm};
			if (!scope || !scope->function) {
				reader->failed = true;
				return outer;
			}
			find_call(reader, die, scope);
		}
		if (reader->range_total == RANGES_MAX ||
		    !COMMON_VECTOR_GROW(reader->ranges, reader->range_capacity, reader->range_count + 1)) {
			reader->failed = true;
			break;
		}
		reader->range_total++;
		reader->ranges[reader->range_count++] = (struct flow_scope_range){first, end, scope, depth};
	}
	return scope ? scope : outer;
}

/* Checks whether an entry of this kind may contain functions. */
static bool may_have_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static void add_children(struct flow_scope_reader *reader, Dwarf_Die *parent, const struct flow_scope *outer,
			 unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || !reader->entries || dwarf_child(parent, &die) != 0)
		return;
	do {
		const int tag = dwarf_tag(&die);
		const struct flow_scope *scope = outer;

		reader->entries--;
		if (!may_have_functions(tag))
			continue;
		/* A function inside another function's entry is not inlined. */
		if (tag == DW_TAG_subprogram)
			scope = add_scope(reader, &die, NULL, depth);
		else if (tag == DW_TAG_inlined_subroutine)
			scope = add_scope(reader, &die, outer, depth);
		/* A function that is only ever inlined has no code in its own description. */
		if (tag != DW_TAG_subprogram || scope)
			add_children(reader, &die, scope, depth + 1);
	} while (!reader->failed && reader->entries && dwarf_siblingof(&die, &die) == 0);
}

/* Returns the bytes of all units of a file, as a bound on their entries. */
static uint64_t size_of_units(Dwarf *dwarf)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (dwarf_nextcu(dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0)
		offset = next;
	return offset;
}

/* Whether LLVM compiled the unit: clang, or "clang LLVM (rustc version ...)". */
static bool is_by_llvm(Dwarf_Die *unit)
{
	const char *producer = text_of(unit, DW_AT_producer);

	return producer && (strstr(producer, "clang") || strstr(producer, "LLVM"));
}

static void add_unit(struct flow_scope_reader *reader, Dwarf_Die *unit)
{
	reader->by_llvm = is_by_llvm(unit);
	reader->files = files_of(unit);
	add_children(reader, unit, NULL, 0);
}

/* Adds the unit in a .dwo file in place of the skeleton. Returns false if the file has no unit with this id. */
static bool add_file(struct flow_scope_reader *reader, Dwarf_Die *skeleton, uint64_t id, uint8_t *data, size_t size)
{
	struct flow_split_unit split;
	const bool opened = flow_split_open(skeleton, id, data, size, &split);

	if (opened) {
		reader->split = &split;
		reader->by_llvm = is_by_llvm(&split.die);
		reader->entries = size_of_units(split.dwarf);
		reader->files = files_of(&split.die);
		if (!reader->files)
			reader->files = files_of(skeleton);
		add_children(reader, &split.die, NULL, 0);
		reader->split = NULL;
		/*
		 * The unit refers to no other file. Other entries may reuse the memory of its entries, so their keys
		 * must go.
		 */
		common_hash_map_free(&reader->functions);
		reader->functions = (struct common_hash_map){0};
	}
	flow_split_close(&split);
	return opened;
}

/*
 * Adds a unit of split DWARF: the skeleton names the file with the rest of the unit. Returns false for any other unit.
 */
static bool add_split(struct flow_scope_reader *reader, Dwarf_Die *unit)
{
	struct flow_split_source *const source = reader->source;
	struct elf_split_unit split;
	uint8_t *data = NULL;
	size_t size;

	if (!elf_split_skeleton(unit, &split))
		return false;
	if ((!source->read(source->context, &split, &data, &size) || !add_file(reader, unit, split.id, data, size)) &&
	    !source->missing)
		source->missing = strdup(split.name);
	free(data);
	return true;
}

void flow_scope_reader_add(struct flow_scope_reader *reader, const struct flow_unit *unit)
{
	Dwarf_Die die;

	reader->entries = unit->size;
	if (!reader->failed && dwarf_offdie(reader->dwarf, unit->entry, &die) && !add_split(reader, &die))
		add_unit(reader, &die);
}

void flow_scope_reader_end(struct flow_scope_reader *reader)
{
	free(reader->ranges);
	reader->ranges = NULL;
	reader->range_count = reader->range_capacity = 0;
	common_byte_map_free(&reader->names);
	common_hash_map_free(&reader->functions);
	reader->names = (struct common_byte_map){0};
	reader->functions = (struct common_hash_map){0};
}

void flow_scope_reader_free(struct flow_scope_reader *reader)
{
	flow_scope_reader_end(reader);
	common_arena_free(&reader->arena);
}

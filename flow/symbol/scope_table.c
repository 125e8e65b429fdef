/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of DWARF by libdw, flattened into one sorted array of where the innermost function changes. */
#include "flow/symbol/scope_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "common/partition.h"
#include "common/vector.h"
#include "flow/symbol/split_unit.h"

#define RANGES_MAX ((size_t)1 << 24)
#define DEPTH_MAX 256 /* entries within each other: real ones reach some dozen */

/* Holds from its address up to the next row's. */
struct row {
	uint64_t address;
	const struct flow_scope *scope; /* NULL: nothing is known from here on */
};

struct flow_scope_table {
	struct row *rows;
	size_t row_count, row_capacity;
	struct common_arena arena; /* scopes, functions and names */
};

/* Addresses of a scope: [first, end). */
struct range {
	uint64_t first, end;
	const struct flow_scope *scope;
	unsigned depth;
};

struct maker {
	struct flow_scope_table *table;
	Dwarf *dwarf;
	struct flow_split_source *source;    /* of .dwo files */
	const struct flow_split_unit *split; /* the unit at hand is in such a file; NULL: it is not */
	struct range *ranges;
	size_t range_count, range_capacity;
	struct common_byte_map names;     /* interned texts */
	struct common_hash_map functions; /* by where what describes them is in memory */
	Dwarf_Files *files;               /* of the unit at hand; NULL: it names none */
	uint64_t entries;                 /* that the unit may still have: each takes a byte, but links may lead back */
	bool failed;                      /* there is no more memory: what has been made so far holds */
};

void flow_scopes_free(struct flow_scope_table *table)
{
	if (!table)
		return;
	common_arena_free(&table->arena);
	free(table->rows);
	free(table);
}

/* ---- what functions are called ------------------------------------------------------------------- */

/* "" for NULL; and without memory. */
static const char *intern(struct maker *maker, const char *text)
{
	const uint64_t *known;
	const char *copy;

	if (!text || !*text)
		return "";
	known = common_byte_map_get(&maker->names, text, strlen(text));
	if (known)
		return (const char *)(uintptr_t)*known;
	copy = common_arena_copy(&maker->table->arena, text, strlen(text));
	if (!copy || common_byte_map_put(&maker->names, text, strlen(text), (uintptr_t)copy) < 0) {
		maker->failed = true;
		return "";
	}
	return copy;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_attr_integrate(die, attribute, &found) ? dwarf_formstring(&found) : NULL;
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = text_of(die, DW_AT_linkage_name);

	if (!name)
		name = text_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : text_of(die, DW_AT_name);
}

/* What all copies of a function have in common. */
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
 * Where an entry is declared; NULL: not known. dwarf_decl_file does not know that files count from 0 since DWARF 5, nor that those of a
 * .dwo file may be the skeleton's.
 */
static const char *file_of(const struct maker *maker, Dwarf_Die *die)
{
	Dwarf_Files *files = maker->files;
	Dwarf_Attribute attribute;
	Dwarf_Half version = 0;
	Dwarf_Word file;
	Dwarf_Die unit;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &file) != 0 ||
	    dwarf_cu_info(attribute.cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) != 0 || (!file && version < 5))
		return NULL;
	/* It may be described in another unit. */
	if (!maker->split)
		files = files_of(&unit);
	return files ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
}

static const struct flow_source_function *function_of(struct maker *maker, Dwarf_Die *die)
{
	struct flow_source_function *function;
	Dwarf_Die origin;
	uint64_t key;
	const uint64_t *known;
	int line = 0;

	find_origin(die, &origin);
	/* Offsets would be of one file, and an origin may lie in another: where it is in memory is of all. */
	key = (uintptr_t)origin.addr;
	known = common_hash_map_get(&maker->functions, key);
	if (known)
		return (const struct flow_source_function *)(uintptr_t)*known;
	function = common_arena_zeroed(&maker->table->arena, sizeof(*function));
	if (!function || common_hash_map_put(&maker->functions, key, (uintptr_t)function) < 0) {
		maker->failed = true;
		return NULL;
	}
	function->name = intern(maker, name_of(&origin));
	function->file = intern(maker, file_of(maker, &origin));
	if (dwarf_decl_line(&origin, &line) == 0 && line > 0)
		function->line = (uint32_t)line;
	return function;
}

/* ---- where they are ------------------------------------------------------------------------------ */

static void find_call(struct maker *maker, Dwarf_Die *die, struct flow_scope *scope)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (maker->files && dwarf_attr(die, DW_AT_call_file, &attribute) && dwarf_formudata(&attribute, &value) == 0)
		scope->call_file = intern(maker, dwarf_filesrc(maker->files, value, NULL, NULL));
	if (dwarf_attr(die, DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &value) == 0 &&
	    value <= UINT32_MAX)
		scope->call_line = (uint32_t)value;
}

/* A walk over the addresses of an entry: zero at first. */
struct walk {
	ptrdiff_t at;
	Dwarf_Addr base;
	struct flow_split_walk split;
};

static bool next_range(const struct maker *maker, Dwarf_Die *die, struct walk *walk, Dwarf_Addr *first, Dwarf_Addr *end)
{
	if (maker->split)
		return flow_split_range(maker->split, die, &walk->split, first, end);
	walk->at = dwarf_ranges(die, walk->at, &walk->base, first, end);
	return walk->at > 0;
}

/* The scope of an entry that has code; outer where it has none. */
static const struct flow_scope *add_scope(struct maker *maker, Dwarf_Die *die, const struct flow_scope *outer,
					  unsigned depth)
{
	struct flow_scope *scope = NULL;
	struct walk walk = {0};
	Dwarf_Addr first, end;

	while (!maker->failed && next_range(maker, die, &walk, &first, &end)) {
		if (first >= end)
			continue;
		if (!scope) {
			scope = common_arena_zeroed(&maker->table->arena, sizeof(*scope));
			if (scope)
				*scope = (struct flow_scope){function_of(maker, die), outer, "", 0};
			if (!scope || !scope->function) {
				maker->failed = true;
				return outer;
			}
			find_call(maker, die, scope);
		}
		if (maker->range_count == RANGES_MAX ||
		    !COMMON_VECTOR_GROW(maker->ranges, maker->range_capacity, maker->range_count + 1))
			maker->failed = true;
		else
			maker->ranges[maker->range_count++] = (struct range){first, end, scope, depth};
	}
	return scope ? scope : outer;
}

/* Which entries are looked into for functions. */
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

static void add_children(struct maker *maker, Dwarf_Die *parent, const struct flow_scope *outer, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || !maker->entries || dwarf_child(parent, &die) != 0)
		return;
	do {
		const int tag = dwarf_tag(&die);
		const struct flow_scope *scope = outer;

		maker->entries--;
		if (!may_have_functions(tag))
			continue;
		/* A function within another's entry is not inlined into it. */
		if (tag == DW_TAG_subprogram)
			scope = add_scope(maker, &die, NULL, depth);
		else if (tag == DW_TAG_inlined_subroutine)
			scope = add_scope(maker, &die, outer, depth);
		/* The description of what is only ever inlined has no code anywhere below. */
		if (tag != DW_TAG_subprogram || scope)
			add_children(maker, &die, scope, depth + 1);
	} while (!maker->failed && maker->entries && dwarf_siblingof(&die, &die) == 0);
}

/* All that units of a file may have. */
static uint64_t size_of_units(Dwarf *dwarf)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (dwarf_nextcu(dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0)
		offset = next;
	return offset;
}

static void add_unit(struct maker *maker, Dwarf_Die *unit)
{
	maker->files = files_of(unit);
	add_children(maker, unit, NULL, 0);
}

/* The .dwo file takes the place of the unit, the skeleton; false where it does not have its id. */
static bool add_file(struct maker *maker, Dwarf_Die *skeleton, uint64_t id, uint8_t *data, size_t size)
{
	struct flow_split_unit split;
	const bool opened = flow_split_open(skeleton, id, data, size, &split);

	if (opened) {
		maker->split = &split;
		maker->entries = size_of_units(split.dwarf);
		maker->files = files_of(&split.die);
		if (!maker->files)
			maker->files = files_of(skeleton);
		add_children(maker, &split.die, NULL, 0);
		maker->split = NULL;
		/* It refers to nothing outside, and other entries may come to lie where its were. */
		common_hash_map_free(&maker->functions);
		maker->functions = (struct common_hash_map){0};
	}
	flow_split_close(&split);
	return opened;
}

/* Split DWARF: the unit says little more than in which file the rest is. False where it is a unit of another kind. */
static bool add_split(struct maker *maker, Dwarf_Die *unit)
{
	struct flow_split_source *const source = maker->source;
	struct elf_split_unit split;
	uint8_t *data = NULL;
	size_t size;

	if (!elf_split_skeleton(unit, &split))
		return false;
	if ((!source->read(source->context, &split, &data, &size) || !add_file(maker, unit, split.id, data, size)) &&
	    !source->missing)
		source->missing = strdup(split.name);
	free(data);
	return true;
}

static void add_units(struct maker *maker)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (!maker->failed && dwarf_nextcu(maker->dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0) {
		Dwarf_Die unit;

		maker->entries = next - offset;
		if (dwarf_offdie(maker->dwarf, offset + header_size, &unit) && !add_split(maker, &unit))
			add_unit(maker, &unit);
		offset = next;
	}
}

/* ---- the table ----------------------------------------------------------------------------------- */

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

/* From the address on; addresses do not fall. */
static bool add_row(struct flow_scope_table *table, uint64_t address, const struct flow_scope *scope)
{
	if (table->row_count && table->rows[table->row_count - 1].address == address)
		table->row_count--;
	else if (!COMMON_VECTOR_GROW(table->rows, table->row_capacity, table->row_count + 1))
		return false;
	table->rows[table->row_count++] = (struct row){address, scope};
	return true;
}

/*
 * Ranges lie in each other. The ones around an address are the beginning of the array of ranges itself, which is never longer than
 * what has been read of it.
 */
static bool make_rows(struct flow_scope_table *table, struct range *ranges, size_t count)
{
	size_t open = 0;
	bool room = true;

	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; room && i <= count; i++) {
		struct range range = i < count ? ranges[i] : (struct range){.first = UINT64_MAX};

		while (room && open && ranges[open - 1].end <= range.first) {
			const uint64_t end = ranges[--open].end;

			room = add_row(table, end, open ? ranges[open - 1].scope : NULL);
		}
		if (i == count)
			break;
		if (open && range.end > ranges[open - 1].end)
			range.end = ranges[open - 1].end;
		room = room && add_row(table, range.first, range.scope);
		ranges[open++] = range;
	}
	return room;
}

struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, struct flow_split_source *split)
{
	struct maker maker = {.table = calloc(1, sizeof(*maker.table)), .dwarf = dwarf, .source = split};
	struct flow_scope_table *table = maker.table;

	if (!table)
		return NULL;
	add_units(&maker);
	if (!maker.range_count || !make_rows(table, maker.ranges, maker.range_count)) {
		flow_scopes_free(table);
		table = NULL;
	}
	free(maker.ranges);
	common_byte_map_free(&maker.names);
	common_hash_map_free(&maker.functions);
	return table;
}

const struct flow_scope *flow_scopes_find(const struct flow_scope_table *table, uint64_t address)
{
	/* Rows at or before address. */
	const size_t low = COMMON_PARTITION(table->row_count, at, table->rows[at].address <= address);
	return low ? table->rows[low - 1].scope : NULL;
}

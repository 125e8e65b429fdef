/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/cause.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "elf/demangle.h"
#include "elf/dwarf_text.h"
#include "query/function_name.h"
#include "query/function_near.h"
#include "record/value/file.h"

#define LISTED_MAX 3u          /* files that a message names */
#define ENTRIES_MAX (1u << 22) /* entries of DWARF that are looked at, as a bound on the time */
#define DEPTH_MAX 16u          /* namespaces and classes within each other */

/* What the files of a specification have. */
struct cause {
	const struct value_spec *spec;
	struct query_near near;
	struct ptl_bytes plain;
	const char *inlined_in; /* first file that has the function in its callers only; NULL: none */
	const char *nameless;   /* first file without names of functions; NULL: none */
	unsigned entries;
};

/* ---- copies of the function in its callers --------------------------------------------------- */

static bool is_inlined_name(struct cause *cause, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word inlined;
	const char *name;

	if (!dwarf_attr(die, DW_AT_inline, &attribute) || dwarf_formudata(&attribute, &inlined) != 0 ||
	    (inlined != DW_INL_inlined && inlined != DW_INL_declared_inlined))
		return false;
	name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ? elf_dwarf_text(&attribute) : NULL;
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
		name = elf_dwarf_text(&attribute);
	if (!name)
		return false;
	if (elf_demangle(name, &cause->plain))
		name = common_text_string(&cause->plain);
	if (query_function_is_called(name, cause->spec->function))
		return true;
	query_near_look(&cause->near, name);
	return false;
}

static bool look_in_scope(struct cause *cause, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die child;

	for (int found = dwarf_child(scope, &child); found == 0 && cause->entries < ENTRIES_MAX;
	     found = dwarf_siblingof(&child, &child)) {
		const int tag = dwarf_tag(&child);
		const bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
				      tag == DW_TAG_class_type || tag == DW_TAG_module;

		cause->entries++;
		if (tag == DW_TAG_subprogram && is_inlined_name(cause, &child))
			return true;
		if (is_scope && depth < DEPTH_MAX && look_in_scope(cause, &child, depth + 1))
			return true;
	}
	return false;
}

static bool has_inlined(struct cause *cause, const struct value_file *file)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	Dwarf_Die unit;

	for (; dwarf_nextcu(file->dwarf, offset, &next, &header, NULL, NULL, NULL) == 0; offset = next)
		if (dwarf_offdie(file->dwarf, offset + header, &unit) && look_in_scope(cause, &unit, 0))
			return true;
	return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Looks at the names of a file. Returns whether the file has any. */
static bool look_at_names(struct cause *cause, const struct value_file *file)
{
	bool any = false;

	for (size_t i = 0; i < file->symbols.count; i++) {
		const struct ptl_symbol *symbol = &file->symbols.list[i];

		/* As in function.c: an entry of the PLT, and a function without a name. */
		if (symbol->type == 'P' || symbol->type == 'u')
			continue;
		any = true;
		query_near_look(&cause->near, elf_demangle(symbol->name, &cause->plain)
						      ? common_text_string(&cause->plain)
						      : symbol->name);
	}
	return any;
}

static void look_at_file(struct cause *cause, const struct value_known_file *known)
{
	struct value_file file;

	if (value_file_open(known->path, known->device, known->inode, &file) < 0)
		return;
	if (!look_at_names(cause, &file) && !file.dwarf && !cause->nameless)
		cause->nameless = known->path;
	if (file.dwarf && !cause->inlined_in && has_inlined(cause, &file))
		cause->inlined_in = known->path;
	value_file_close(&file);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void add_files(const struct cause *cause, const struct value_known_file *files, size_t count,
		      struct ptl_bytes *text)
{
	size_t meant = 0, listed = 0;

	for (size_t i = 0; i < count; i++)
		meant += value_spec_is_in(cause->spec, files[i].path);
	for (size_t i = 0; i < count && listed < LISTED_MAX; i++) {
		if (!value_spec_is_in(cause->spec, files[i].path))
			continue;
		common_text_add(text, !listed++ ? "" : listed == meant ? " and " : ", ");
		common_text_safe(text, files[i].path);
	}
	if (listed < meant)
		common_text_format(text, " and %zu other file%s", meant - listed, meant - listed > 1 ? "s" : "");
}

void value_cause(const struct value_spec *spec, const struct value_known_file *files, size_t count,
		 struct ptl_bytes *text)
{
	struct cause cause = {.spec = spec, .near = {.text = spec->function}};
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (!value_spec_is_in(spec, files[i].path))
			continue;
		any = true;
		look_at_file(&cause, &files[i]);
	}
	if (!any) {
		common_text_add(text, "no recorded program or library is called ");
		common_text_safe(text, spec->file ? spec->file : "so");
	} else if (cause.inlined_in) {
		common_text_safe(text, cause.inlined_in);
		common_text_add(text, " has the function in its callers only (inlining): compile the function with "
				      "__attribute__((noinline)), or read values of a caller");
	} else {
		common_text_add(text, "no function of this name in ");
		add_files(&cause, files, count, text);
		common_text_add(text, query_near_question(&cause.near));
	}
	if (any && !cause.inlined_in && cause.nameless) {
		common_text_add(text, "; ");
		common_text_safe(text, cause.nameless);
		common_text_add(text,
				" has no names of functions: see --debug-path and --debuginfod for its debug file");
	}
	common_bytes_free(&cause.plain);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/function.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/text.h"
#include "elf/demangle.h"
#include "elf/dwarf_text.h"
#include "query/function_name.h"
#include "record/value/access.h"

#define FUNCTIONS_MAX 64u /* functions of one name */
#define NAMESPACES_MAX 8u /* namespaces within each other */
#define ARGUMENTS_MAX 6u  /* arguments in general registers */

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns whether the linker's name is of a copy of a function for special arguments. Parts of functions are no copies. */
static bool is_copy(const char *symbol, const char *name)
{
	const size_t size = strlen(name);

	return !strncmp(symbol, name, size) &&
	       (!strncmp(symbol + size, ".constprop.", 11) || !strncmp(symbol + size, ".isra.", 6) ||
		!strncmp(symbol + size, ".lto_priv.", 10));
}

/*
 * Returns whether the compiler may have removed arguments, or the result, as only this file calls the function: GCC names
 * such copies, and LLVM tells the convention.
 */
static bool is_changed(const char *symbol, Dwarf_Die *function, const char *word)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	return strstr(symbol, word) || (dwarf_attr_integrate(function, DW_AT_calling_convention, &attribute) &&
					dwarf_formudata(&attribute, &convention) == 0 && convention == DW_CC_nocall);
}

static bool is_part(const char *symbol)
{
	return strstr(symbol, ".cold") || strstr(symbol, ".part.");
}

static bool is_called(const struct ptl_symbol *symbol, const char *name, struct ptl_bytes *plain)
{
	const char *called = elf_demangle(symbol->name, plain) ? common_text_string(plain) : symbol->name;

	/* 'P': an entry of the PLT; 'u': a function without a name. */
	return symbol->type != 'P' && symbol->type != 'u' && !is_part(symbol->name) &&
	       (!strcmp(symbol->name, name) || is_copy(symbol->name, name) || query_function_is_called(called, name));
}

/* ---- the function's entry in DWARF ----------------------------------------------------------- */

struct search {
	uint64_t address;
	Dwarf_Die function;
	bool found;
};

static int look_at_function(Dwarf_Die *die, void *context)
{
	struct search *search = context;
	Dwarf_Addr entry, base, start, end;
	ptrdiff_t offset = 0;

	if (dwarf_entrypc(die, &entry) != 0) {
		offset = dwarf_ranges(die, 0, &base, &start, &end);
		if (offset <= 0)
			return DWARF_CB_OK;
		entry = start;
	}
	if (entry != search->address)
		return DWARF_CB_OK;
	search->function = *die;
	search->found = true;
	return DWARF_CB_ABORT;
}

static bool find_die(const struct value_file *file, uint64_t address, Dwarf_Die *unit, Dwarf_Die *function)
{
	struct search search = {.address = address};
	Dwarf_Off offset = 0, next;
	size_t header;

	for (unsigned i = 0; i < VALUE_UNITS_MAX && !search.found &&
			     dwarf_nextcu(file->dwarf, offset, &next, &header, NULL, NULL, NULL) == 0;
	     i++, offset = next)
		if (dwarf_offdie(file->dwarf, offset + header, unit) && dwarf_haspc(unit, address) > 0)
			(void)dwarf_getfuncs(unit, look_at_function, &search, 0);
	*function = search.function;
	return search.found;
}

static void read_ranges(Dwarf_Die *die, struct value_function *function)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while (function->range_count < CHANNEL_VALUE_RANGES_MAX &&
	       (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		function->ranges[function->range_count][0] = start;
		function->ranges[function->range_count++][1] = end;
	}
}

/* Finds the end of the function's first instructions, which make the frame and store the arguments. 0: unknown. */
static uint64_t find_body(Dwarf_Die *unit, const struct value_function *function)
{
	uint64_t second = 0;
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(unit, &lines, &count) != 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool ends = false, sequence = false;

		if (dwarf_lineaddr(line, &address) != 0 || address < function->ranges[0][0] ||
		    address >= function->ranges[0][1])
			continue;
		(void)dwarf_lineprologueend(line, &ends);
		(void)dwarf_lineendsequence(line, &sequence);
		if (ends && address > function->entry)
			return address;
		if (!sequence && address > function->entry && (!second || address < second))
			second = address;
	}
	return second;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* A function at work. */
struct reading {
	struct value_scope scope;
	Dwarf_Die unit, die;
	struct value_function *function;
	bool optimized;
	bool other_arguments; /* the compiler may have removed or moved arguments */
	bool other_result;    /* the compiler may have removed the result */
	uint64_t body;        /* 0: unknown */
};

/* Returns whether a variable of the function has a location that changes. Compilers do not track variables without optimization. */
static bool has_lists(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;

	for (int status = dwarf_child(function, &child); status == 0; status = dwarf_siblingof(&child, &child))
		if (dwarf_attr(&child, DW_AT_location, &attribute) && value_is_list(&attribute))
			return true;
	return false;
}

/* Returns whether the memory of parameters may be written later than by the function's first instructions, or never. */
static bool is_optimized(Dwarf_Die *unit, Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *producer = dwarf_attr(unit, DW_AT_producer, &attribute) ? elf_dwarf_text(&attribute) : NULL;
	const bool is_gnu = producer && !strncmp(producer, "GNU ", 4);
	bool optimized = false;

	for (const char *at = producer; at && (at = strstr(at, " -O")); at += 3)
		optimized = at[3] != '0';
	/* GCC describes the calls of a function without calls in any case. */
	return optimized || has_lists(function) ||
	       (!is_gnu && dwarf_attr(function, DW_AT_call_all_calls, &attribute)) ||
	       (!is_gnu && dwarf_attr(function, DW_AT_GNU_all_call_sites, &attribute));
}

/* Returns whether the compiler has put the function into callers, too. */
static bool is_inlined(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Word how;

	return dwarf_attr_integrate(function, DW_AT_inline, &attribute) && dwarf_formudata(&attribute, &how) == 0 &&
	       (how == DW_INL_inlined || how == DW_INL_declared_inlined);
}

static bool find_child(Dwarf_Die *die, int tag, const char *name, Dwarf_Die *found)
{
	int status = dwarf_child(die, found);

	for (; status == 0; status = dwarf_siblingof(found, found)) {
		const char *own = elf_dwarf_name(found);

		if (dwarf_tag(found) == tag && own && !strcmp(own, name))
			return true;
	}
	return false;
}

/*
 * Finds where the ABI passes a parameter at the entry. Only a function that other files may call is sure to follow the ABI,
 * and only parameters without structures before are located.
 */
static bool find_argument(const struct reading *reading, Dwarf_Die *parameter, struct value_location *location)
{
	static const uint8_t general[ARGUMENTS_MAX] = {7, 6, 2, 1, 8, 9}; /* RDI, RSI, RDX, RCX, R8, R9 */
	Dwarf_Die die = reading->die, child, type;
	unsigned generals = 0, vectors = 0;
	Dwarf_Attribute attribute;
	bool external = false, vector;

	if (dwarf_attr_integrate(&die, DW_AT_external, &attribute))
		(void)dwarf_formflag(&attribute, &external);
	if (!external || reading->other_arguments || (value_type_of(&die, &type) && !value_is_scalar(&type, &vector)))
		return false;
	for (int status = dwarf_child(&die, &child); status == 0; status = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (!value_type_of(&child, &type) || !value_is_scalar(&type, &vector) || generals >= ARGUMENTS_MAX ||
		    vectors >= 8)
			return false;
		if (dwarf_dieoffset(&child) == dwarf_dieoffset(parameter)) {
			*location = vector ? value_in_vector(vectors)
					   : value_in_register(general[generals], VALUE_REGISTER);
			return true;
		}
		vector ? vectors++ : generals++;
	}
	return false;
}

/* Locates a parameter. *at_body: its memory is written by the first instructions, so the place lies behind these. */
static struct value_location locate_parameter(const struct reading *reading, Dwarf_Die *die, bool *at_body)
{
	struct value_scope scope = reading->scope;
	struct value_location location;
	bool listed;

	location = value_locate(&scope, die, &listed);
	*at_body = false;
	if (!location.in_frame || listed)
		return location;
	if (reading->optimized)
		return find_argument(reading, die, &location)
			       ? location
			       : value_absent("its memory is not yet written at the entry");
	if (!reading->body)
		return value_absent("the line table does not say where its memory is written");
	*at_body = true;
	scope.pc = reading->body;
	return value_locate(&scope, die, &listed);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Returns whether the entry is called `name`, which may begin with namespaces. */
static bool has_scoped_name(Dwarf_Die *die, const char *name)
{
	const char *own, *end = name + strlen(name);
	Dwarf_Die *scopes = NULL;
	const int count = dwarf_getscopes_die(die, &scopes);
	bool matches = count > 0;

	/* The first scope is the entry itself. */
	for (int i = 0; matches && i < count && end > name; i++) {
		const size_t size = (own = elf_dwarf_name(&scopes[i])) ? strlen(own) : 0;

		if (i && dwarf_tag(&scopes[i]) != DW_TAG_namespace && dwarf_tag(&scopes[i]) != DW_TAG_class_type &&
		    dwarf_tag(&scopes[i]) != DW_TAG_structure_type)
			break;
		matches = size && (size_t)(end - name) >= size && !memcmp(end - size, own, size);
		end -= matches ? size : 0;
		if (matches && end - name >= 2 && end[-1] == ':' && end[-2] == ':')
			end -= 2;
		else
			break;
	}
	free(scopes);
	return matches && end == name;
}

/* Returns whether the entry defines the variable that is declared in a namespace or class. */
static bool defines(Dwarf_Die *die, const char *name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declared;

	return dwarf_attr(die, DW_AT_specification, &attribute) && dwarf_formref_die(&attribute, &declared) &&
	       has_scoped_name(&declared, name);
}

/* Finds a global variable, also in namespaces. name: with or without namespaces. */
static bool find_variable(Dwarf_Die *within, const char *name, unsigned depth, Dwarf_Die *found)
{
	Dwarf_Die child;

	for (int status = dwarf_child(within, &child); status == 0; status = dwarf_siblingof(&child, &child)) {
		const char *own = elf_dwarf_name(&child);
		const size_t size = own ? strlen(own) : 0;
		const int tag = dwarf_tag(&child);
		Dwarf_Attribute attribute;

		if (tag == DW_TAG_variable && own && (!strcmp(own, name) || defines(&child, name)) &&
		    dwarf_attr_integrate(&child, DW_AT_location, &attribute)) {
			*found = child;
			return true;
		}
		if (tag != DW_TAG_namespace || !depth)
			continue;
		if (size && !strncmp(name, own, size) && !strncmp(name + size, "::", 2) &&
		    find_variable(&child, name + size + 2, depth - 1, found))
			return true;
		if (find_variable(&child, name, depth - 1, found))
			return true;
	}
	return false;
}

static bool find_global(const struct value_file *file, Dwarf_Die *unit, const char *name, Dwarf_Die *found)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	Dwarf_Die other;

	if (find_variable(unit, name, NAMESPACES_MAX, found))
		return true;
	for (unsigned i = 0;
	     i < VALUE_UNITS_MAX && dwarf_nextcu(file->dwarf, offset, &next, &header, NULL, NULL, NULL) == 0;
	     i++, offset = next)
		if (dwarf_offdie(file->dwarf, offset + header, &other) &&
		    find_variable(&other, name, NAMESPACES_MAX, found))
			return true;
	return false;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Finds the parameter, also if only the declaration of an optimized function has the name. */
static bool find_parameter(const struct reading *reading, const char *name, Dwarf_Die *found)
{
	Dwarf_Die die = reading->die, origin;
	Dwarf_Attribute attribute;

	if (find_child(&die, DW_TAG_formal_parameter, name, found))
		return true;
	return dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &origin) &&
	       find_child(&origin, DW_TAG_formal_parameter, name, found);
}

static struct value_object find_object(const struct value_file *file, struct reading *reading,
				       const struct value_expression *expression, bool *at_body)
{
	struct value_object object = {.location = value_absent("the function has no parameter of this name, and the "
							       "file no such global variable")};
	Dwarf_Die die;
	bool listed;

	*at_body = false;
	if (find_parameter(reading, expression->root, &die))
		object.location = locate_parameter(reading, &die, at_body);
	else if (find_global(file, &reading->unit, expression->root, &die))
		object.location = value_locate(&reading->scope, &die, &listed);
	else
		return object;
	object.has_type = value_type_of(&die, &object.type);
	return object;
}

static int add_expression(struct value_fields *fields, struct value_object *object,
			  const struct value_expression *expression)
{
	value_access(object, expression);
	return value_fields_add(fields, expression->text, object);
}

static bool is_result(Dwarf_Die *parameter)
{
	Dwarf_Attribute attribute;
	bool result = false;

	if (dwarf_attr(parameter, DW_AT_variable_parameter, &attribute))
		(void)dwarf_formflag(&attribute, &result);
	return result;
}

static struct value_object find_result(struct reading *reading)
{
	struct value_object object = value_result(&reading->die);

	if (object.has_type && reading->other_result)
		object.location = value_absent("optimized out (no caller may use the result)");
	return object;
}

static int add_all(struct reading *reading, bool *at_body)
{
	struct value_function *function = reading->function;
	Dwarf_Die child, result;
	int status = 0;

	for (int found = dwarf_child(&reading->die, &child); status == 0 && found == 0;
	     found = dwarf_siblingof(&child, &child)) {
		const char *name = elf_dwarf_name(&child);
		struct value_object object;
		bool body;

		/* Go describes results as parameters. */
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || !name || is_result(&child))
			continue;
		object.location = locate_parameter(reading, &child, &body);
		object.has_type = value_type_of(&child, &object.type);
		*at_body |= body;
		status = value_fields_add(&function->fields, name, &object);
	}
	if (status == 0 && value_type_of(&reading->die, &result)) {
		struct value_object object = find_result(reading);

		status = value_fields_add(&function->results, "$return", &object);
	}
	return status;
}

static int add_listed(const struct value_file *file, struct reading *reading, const struct value_spec *spec,
		      bool *at_body)
{
	struct value_function *function = reading->function;
	int status = 0;

	for (size_t i = 0; status == 0 && i < spec->count; i++) {
		const struct value_expression *expression = &spec->expressions[i];
		struct value_object object;
		bool body = false;

		object = expression->result ? find_result(reading) : find_object(file, reading, expression, &body);
		*at_body |= body;
		status = add_expression(expression->result ? &function->results : &function->fields, &object,
					expression);
	}
	return status;
}

/* Locates all values. At the end, all are read at one place: the entry, or the body if any value needs the body. */
static int read_values(const struct value_file *file, struct reading *reading, const struct value_spec *spec)
{
	struct value_function *function = reading->function;
	bool at_body = false;
	int status = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		value_fields_free(&function->fields);
		value_fields_free(&function->results);
		function->pc = reading->scope.pc = at_body ? reading->body : function->entry;
		status = spec->all ? add_all(reading, &at_body) : add_listed(file, reading, spec, &at_body);
		if (status < 0 || !at_body)
			break;
	}
	return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool begin_function(const struct value_file *file, const struct ptl_symbol *symbol, struct reading *reading)
{
	struct value_function *function = reading->function;
	const uint64_t address = symbol->address;

	if (!find_die(file, address, &reading->unit, &reading->die))
		return false;
	function->entry = address;
	read_ranges(&reading->die, function);
	if (!function->range_count)
		return false;
	reading->scope = (struct value_scope){
		.function = &reading->die,
		.frames = {file->frames, dwarf_getcfi(file->dwarf)},
		.pc = address,
		.entry = address,
	};
	reading->optimized = is_optimized(&reading->unit, &reading->die);
	reading->other_result = is_changed(symbol->name, &reading->die, ".isra.");
	reading->other_arguments = reading->other_result || is_changed(symbol->name, &reading->die, ".constprop.");
	function->inlined = is_inlined(&reading->die);
	reading->body = reading->scope.body = find_body(&reading->unit, function);
	return true;
}

/* Reads the values of the symbol's function. *described: debug information describes the function. */
static int read_function(const struct value_file *file, const struct ptl_symbol *symbol, const struct value_spec *spec,
			 struct value_function *function, bool *described)
{
	struct reading reading = {.function = function};

	*described = file->dwarf && begin_function(file, symbol, &reading);
	return *described ? read_values(file, &reading, spec) : 0;
}

int value_function_find(const struct value_file *file, const struct value_spec *spec,
			int (*found)(void *context, const struct value_file *file, struct value_function *function),
			void *context, size_t *count, char note[256])
{
	struct value_function *const function = malloc(sizeof(*function));
	uint64_t addresses[FUNCTIONS_MAX];
	struct ptl_bytes plain = {0};
	int status = 0;

	*count = 0;
	note[0] = 0;
	if (!function)
		return common_fail_memory("--values", sizeof(*function));
	for (size_t i = 0; status == 0 && i < file->symbols.count && *count < FUNCTIONS_MAX; i++) {
		const struct ptl_symbol *symbol = &file->symbols.list[i];
		bool known = false, described;

		for (size_t j = 0; j < *count; j++)
			known |= addresses[j] == symbol->address;
		if (known || !is_called(symbol, spec->function, &plain))
			continue;
		addresses[(*count)++] = symbol->address;
		memset(function, 0, sizeof(*function));
		status = read_function(file, symbol, spec, function, &described);
		if (!described)
			snprintf(note, 256, "no debug information describes %.100s%s", symbol->name,
				 file->dwarf ? "" : " (compile with -g, or see --debug-path and --debuginfod)");
		else if (status == 0)
			status = found(context, file, function);
		value_fields_free(&function->fields);
		value_fields_free(&function->results);
	}
	free(function);
	common_bytes_free(&plain);
	return status;
}

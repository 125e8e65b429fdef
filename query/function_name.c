/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares a text with the forms of a name, from each scope on. */
#include "query/function_name.h"

#include <string.h>

#include "common/text/text.h"
#include "query/glob.h"
#include "query/name_form.h"

static const struct query_name_form typed_form = {
	.keeps_arguments = true, .parameters = QUERY_PARAMETERS_ALL, .is_bare = true};

/* What the user typed. */
struct wanted {
	const char *text;
	bool is_pattern;
	bool is_whole; /* the text began with "::" */
};

bool query_function_is_clone(const char *name)
{
	struct query_name_form form = {.is_bare = true};
	struct ptl_bytes text = {0};
	size_t size;
	bool drops;

	(void)query_name_form(name, &form, &text);
	size = text.size;
	form.drops_clones = true;
	(void)query_name_form(name, &form, &text);
	drops = text.size != 2 * size;
	common_bytes_free(&text);
	return drops || strstr(name, " [clone ");
}

bool query_function_is_pattern(const char *text)
{
	const char *at = strpbrk(text, "*?");

	/* Go's "(*T)" is no pattern. */
	while (at && *at == '*' && at > text && at[-1] == '(')
		at = strpbrk(at + 1, "*?");
	return at;
}

static bool is_part(const char *begin, const struct wanted *wanted)
{
	return wanted->is_pattern ? query_glob(wanted->text, begin, strlen(begin), NULL) : !strcmp(begin, wanted->text);
}

/* ---- forms of a name ---------------------------------------------------------------------------- */

/* Returns the beginning of the next scope in the form; NULL: none. */
static const char *next_scope(const char *form, const char *at)
{
	unsigned depth = 0;

	for (; *at && !query_name_is_operator(form, at); at++) {
		if (strchr("(<[{", *at))
			depth++;
		else if (strchr(")>]}", *at) && at > form && at[-1] != '-')
			depth -= depth > 0;
		else if (!depth && at[0] == ':' && at[1] == ':' && at[2])
			return at + 2;
		else if (!depth && strchr("./", *at) && at[1])
			return at + 1;
	}
	return NULL;
}

static enum query_function_match match_form(const char *form, const struct wanted *wanted)
{
	if (is_part(form, wanted))
		return QUERY_FUNCTION_WHOLE;
	for (const char *at = wanted->is_whole ? NULL : next_scope(form, form); at; at = next_scope(form, at))
		if (is_part(at, wanted))
			return QUERY_FUNCTION_INNER;
	return QUERY_FUNCTION_OTHER;
}

struct matching {
	const char *name;
	const struct wanted *wanted;
	struct ptl_bytes form;
	enum query_function_match best;
};

/* Compares a form, and for Rust's "<A as B>::f" also "A::f" and "B::f". */
static void try_form(struct matching *matching, struct query_name_form form)
{
	static const enum query_name_qualifier qualifiers[] = {QUERY_QUALIFIER_WHOLE, QUERY_QUALIFIER_TYPE,
							       QUERY_QUALIFIER_TRAIT};
	bool has_trait = true;

	form.is_bare = form.drops_clones = true;
	for (size_t i = 0; has_trait && i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
		enum query_function_match match;

		form.qualifier = qualifiers[i];
		matching->form.size = 0;
		has_trait = query_name_form(matching->name, &form, &matching->form);
		match = match_form(common_text_string(&matching->form), matching->wanted);
		if (match > matching->best)
			matching->best = match;
	}
}

/* Names that runtimes write for compiled code: "JS:*run /a.js:3:1", "py::run:/a.py". */
static void try_runtime_name(struct matching *matching)
{
	static const char *const prefixes[] = {"JS:", "LazyCompile:", "Function:", "py::", NULL};
	const char *name = matching->name;
	size_t i = 0;

	while (prefixes[i] && strncmp(name, prefixes[i], strlen(prefixes[i])))
		i++;
	if (!prefixes[i])
		return;
	name += strlen(prefixes[i]);
	name += strspn(name, "*~^+");
	matching->form.size = 0;
	common_write_bytes(&matching->form, name, strcspn(name, " :"));
	if (match_form(common_text_string(&matching->form), matching->wanted) && matching->best < QUERY_FUNCTION_INNER)
		matching->best = QUERY_FUNCTION_INNER;
}

/*
 * Whether the last plain word of the text is missing in the name, so that nothing can match. The test is fast, because
 * most names of a program do not match.
 */
static bool lacks_word(const char *name, const char *text)
{
	const size_t size = strlen(text);
	size_t begin = size;

	if (strpbrk(text, "*?<([{ "))
		return false;
	while (begin && !strchr(":./", text[begin - 1]))
		begin--;
	return !strstr(name, text + begin);
}

static enum query_function_match match_forms(const char *name, const struct wanted *wanted)
{
	struct matching matching = {.name = name, .wanted = wanted};
	const bool has_brackets = strpbrk(wanted->text, "<([{");

	for (unsigned keeps = 0; keeps < (has_brackets ? 2u : 1u); keeps++)
		for (unsigned parameters = QUERY_PARAMETERS_NONE;
		     parameters <= (has_brackets ? QUERY_PARAMETERS_ALL : QUERY_PARAMETERS_NONE); parameters++)
			try_form(&matching, (struct query_name_form){
						    .keeps_arguments = keeps,
						    .parameters = (enum query_name_parameters)parameters,
					    });
	if (!matching.best)
		try_runtime_name(&matching);
	common_bytes_free(&matching.form);
	return matching.best;
}

enum query_function_match query_function_match(const char *name, const char *text)
{
	struct wanted wanted = {.text = text, .is_pattern = query_function_is_pattern(text)};
	struct ptl_bytes typed = {0};
	enum query_function_match match;

	if (!strcmp(name, text) || (strpbrk(text, "*?") && query_glob(text, name, strlen(name), NULL)))
		return QUERY_FUNCTION_WHOLE;
	wanted.is_whole = !strncmp(text, "::", 2);
	text += wanted.is_whole ? 2 : 0;
	if (!*text || lacks_word(name, text))
		return QUERY_FUNCTION_OTHER;
	(void)query_name_form(text, &typed_form, &typed);
	wanted.text = common_text_string(&typed);
	match = *wanted.text ? match_forms(name, &wanted) : QUERY_FUNCTION_OTHER;
	common_bytes_free(&typed);
	return match;
}

bool query_function_is_called(const char *name, const char *text)
{
	return query_function_match(name, text) != QUERY_FUNCTION_OTHER;
}

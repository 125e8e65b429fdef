/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks a name from left to right. Groups in brackets are skipped or copied as one piece. */
#include "query/name_form.h"

#include <ctype.h>
#include <string.h>

#include "common/text/text.h"

#define OPERATOR "operator"
#define ANONYMOUS "(anonymous namespace)::"
#define CLONE " [clone "
#define SCOPE "::"

struct writer {
	const struct query_name_form *form;
	const char *name; /* the whole name */
	const char *at;
	struct ptl_bytes *out;
	size_t begin;       /* offset in `out` behind a prefix */
	bool is_conversion; /* "operator unsigned long": blanks belong to the type */
	bool is_odd;        /* a bracket has no partner */
	bool has_trait;
	bool has_ended; /* the rest is no part of the name */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c & 0x80;
}

static bool begins(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

bool query_name_is_operator(const char *text, const char *at)
{
	return begins(at, OPERATOR) && !is_word(at[strlen(OPERATOR)]) && (at == text || !is_word(at[-1]));
}

const char *query_name_operator_end(const char *text)
{
	/* Longer symbols stand before their beginnings. */
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
		"&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", NULL};
	const char *at = text + strlen(OPERATOR);

	for (size_t i = 0; symbols[i]; i++)
		if (begins(at, symbols[i]))
			return at + strlen(symbols[i]);
	return *at && strchr("<>=!+-*/%&|^~,", *at) ? at + 1 : at;
}

/* Returns the address behind the partner of the bracket; NULL without a partner. */
static const char *behind_group(const char *open)
{
	const char *at = open;
	unsigned depth = 0;

	do {
		if (query_name_is_operator(open, at)) {
			at = query_name_operator_end(at);
			continue;
		}
		if (begins(at, "->")) {
			at += 2;
			continue;
		}
		if (strchr("(<[{", *at))
			depth++;
		else if (strchr(")>]}", *at))
			depth--;
		at++;
	} while (depth && *at);
	return depth ? NULL : at;
}

/* ---- copies ------------------------------------------------------------------------------------- */

static const struct {
	const char *long_name, *name;
} replacements[] = {
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >", "std::string"},
	{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >", "std::wstring"},
	{"std::__cxx11::", "std::"},
	{"std::__1::", "std::"},
};

/* Writes the short name of a long standard name at *at, and advances *at. */
static bool replace_standard(struct ptl_bytes *out, const char **at)
{
	for (size_t i = 0; **at == 's' && i < sizeof(replacements) / sizeof(replacements[0]); i++)
		if (begins(*at, replacements[i].long_name)) {
			common_text_add(out, replacements[i].name);
			*at += strlen(replacements[i].long_name);
			return true;
		}
	return false;
}

static char last_of(const struct writer *writer)
{
	return writer->out->size > writer->begin ? (char)writer->out->data[writer->out->size - 1] : '\0';
}

/* Copies a piece. A blank remains only between two words. */
static void copy_piece(struct writer *writer, const char *at, const char *end)
{
	while (at < end) {
		const bool begins_word = !is_word(last_of(writer));

		if (begins_word && replace_standard(writer->out, &at))
			continue;
		if (*at != ' ' || (!begins_word && at + 1 < end && is_word(at[1])))
			common_write_bytes(writer->out, at, 1);
		at++;
	}
}

static bool is_arguments(const struct writer *writer, const char *at)
{
	const char last = last_of(writer);

	return *at == '<' && (is_word(last) || last == ':');
}

/* Removes "::" of Rust's "f::<T>". */
static void drop_scope(struct writer *writer)
{
	const struct ptl_bytes *out = writer->out;

	if (out->size >= writer->begin + 2 && !memcmp(out->data + out->size - 2, SCOPE, 2))
		writer->out->size -= 2;
}

/* Copies a piece without template arguments, and without parameters unless the form keeps them. */
static void copy_short(struct writer *writer, const char *at, const char *end, bool keeps_parameters)
{
	while (at < end) {
		const char *behind = is_arguments(writer, at) || (*at == '(' && !keeps_parameters) ? behind_group(at)
												   : NULL;

		if (behind && behind <= end) {
			if (*at == '<')
				drop_scope(writer);
			at = behind;
			continue;
		}
		common_write_bytes(writer->out, at++, 1);
	}
}

static void copy_group(struct writer *writer, const char *end, bool keeps_parameters)
{
	if (writer->form->keeps_arguments)
		copy_piece(writer, writer->at, end);
	else
		copy_short(writer, writer->at, end, keeps_parameters);
	writer->at = end;
}

/* ---- parts of a name ---------------------------------------------------------------------------- */

static bool is_component_start(const struct writer *writer)
{
	const char last = last_of(writer);

	return !last || last == ':' || last == '.' || last == '/';
}

/* Returns the position of " as " outside of inner brackets; NULL. */
static const char *find_as(const char *at, const char *end)
{
	while (at < end) {
		const char *behind = strchr("(<[{", *at) ? behind_group(at) : NULL;

		if (behind) {
			at = behind;
			continue;
		}
		if (begins(at, " as "))
			return at;
		at++;
	}
	return NULL;
}

/* Replaces the path so far by a type of a qualifier, without "&mut " before the type. */
static void write_type(struct writer *writer, const char *at, const char *end)
{
	const size_t start = writer->begin;

	writer->out->size = start;
	while (at < end && (strchr("&*' ", *at) || begins(at, "mut ") || begins(at, "const ") || begins(at, "dyn ")))
		at += begins(at, "mut ") || begins(at, "dyn ") ? 4 : begins(at, "const ") ? 6 : 1;
	copy_short(writer, at, end, true);
}

/* Writes "<A>", "<A as B>", "<impl A>" or "<impl B for A>". */
static void write_qualifier(struct writer *writer, const char *behind)
{
	const char *at = writer->at + 1, *end = behind - 1, *type = at, *type_end = end, *trait = NULL,
		   *trait_end = end;
	const bool is_impl = begins(at, "impl ");
	const char *middle = is_impl ? memmem(at, (size_t)(end - at), " for ", strlen(" for ")) : find_as(at, end);

	if (is_impl) {
		trait = middle ? at + strlen("impl ") : NULL;
		trait_end = middle;
		type = middle ? middle + strlen(" for ") : at + strlen("impl ");
	} else if (middle) {
		type_end = middle;
		trait = middle + strlen(" as ");
	}
	writer->has_trait |= trait || is_impl;
	if (trait && writer->form->qualifier == QUERY_QUALIFIER_TRAIT) {
		write_type(writer, trait, trait_end);
	} else if (writer->form->qualifier != QUERY_QUALIFIER_WHOLE) {
		write_type(writer, type, type_end);
	} else if (!trait && !is_impl && is_word(*at)) {
		copy_short(writer, at, end, true);
	} else {
		common_text_add(writer->out, "<");
		copy_short(writer, at, end, true);
		common_text_add(writer->out, ">");
	}
	writer->at = behind;
}

static void take_angle(struct writer *writer, const char *behind)
{
	const bool is_first = !last_of(writer);

	if (is_first || (is_component_start(writer) && begins(writer->at, "<impl "))) {
		write_qualifier(writer, behind);
		return;
	}
	if (writer->form->keeps_arguments)
		copy_piece(writer, writer->at, behind);
	else
		drop_scope(writer);
	writer->at = behind;
}

/* Brackets are an ABI tag or arguments of a Go type, or belong to a Rust type. */
static void take_square(struct writer *writer, const char *behind)
{
	if (behind == writer->at + 2 || is_component_start(writer) || writer->form->keeps_arguments)
		copy_piece(writer, writer->at, behind);
	writer->at = behind;
}

static const char *behind_qualifiers(const char *at)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept", NULL};

	for (size_t i = 0; words[i]; i++)
		if (begins(at, words[i]) && !is_word(at[strlen(words[i])])) {
			at += strlen(words[i]);
			i = (size_t)-1;
		}
	return at;
}

static bool is_tail(const char *at)
{
	return !*at || *at == '@' || begins(at, CLONE);
}

static void begin_again(struct writer *writer)
{
	writer->out->size = writer->begin;
	writer->is_conversion = false;
}

static void take_parameters(struct writer *writer, const char *behind)
{
	const char *rest = behind_qualifiers(behind);
	const bool is_last = is_tail(rest);

	/* The bracket belongs to a return type such as "decltype (f())". */
	if (!is_last && *rest == ' ') {
		begin_again(writer);
		writer->at = rest + 1;
		return;
	}
	writer->is_conversion = false;
	if (writer->form->parameters == QUERY_PARAMETERS_ALL ||
	    (!is_last && writer->form->parameters == QUERY_PARAMETERS_INNER))
		copy_piece(writer, writer->at, rest);
	writer->has_ended = is_last;
	writer->at = rest;
}

static void take_round(struct writer *writer, const char *behind)
{
	if (is_component_start(writer) && writer->at[1] == '*') {
		/* Go's receiver, "(*T)" */
		if (writer->form->is_bare)
			copy_piece(writer, writer->at + 2, behind - 1);
		else
			copy_piece(writer, writer->at, behind);
		writer->at = behind;
		return;
	}
	take_parameters(writer, behind);
}

static void take_group(struct writer *writer)
{
	const char *behind = behind_group(writer->at);

	if (!behind) {
		writer->is_odd = true;
		return;
	}
	if (*writer->at == '<')
		take_angle(writer, behind);
	else if (*writer->at == '[')
		take_square(writer, behind);
	else if (*writer->at == '(')
		take_round(writer, behind);
	else
		copy_group(writer, behind, writer->form->parameters != QUERY_PARAMETERS_NONE);
}

static void take_operator(struct writer *writer)
{
	const char *end = query_name_operator_end(writer->at);

	common_write_bytes(writer->out, writer->at, (size_t)(end - writer->at));
	writer->is_conversion |= end[0] == '"' || (end[0] == ' ' && is_word(end[1]));
	/* Template arguments follow "operator<" behind a blank. */
	if (end[0] == ' ' && end[1] == '<' && behind_group(end + 1)) {
		const char *behind = behind_group(end + 1);

		if (writer->form->keeps_arguments)
			copy_piece(writer, end, behind);
		end = behind;
	}
	writer->at = end;
}

/* Writes the next part. Returns false at the end of the name. */
static bool take_part(struct writer *writer)
{
	const char *at = writer->at;

	if (writer->is_odd || writer->has_ended || !*at || begins(at, CLONE))
		return false;
	if (query_name_is_operator(writer->name, at)) {
		take_operator(writer);
	} else if (is_component_start(writer) && begins(at, ANONYMOUS)) {
		if (!writer->form->is_bare)
			common_text_add(writer->out, ANONYMOUS);
		writer->at += strlen(ANONYMOUS);
	} else if (strchr("(<[{", *at)) {
		take_group(writer);
	} else if (*at == ' ' && !writer->is_conversion) {
		begin_again(writer);
		writer->at++;
	} else if (is_word(last_of(writer)) || !replace_standard(writer->out, &writer->at)) {
		common_write_bytes(writer->out, writer->at++, 1);
	}
	return true;
}

/* ---- before and behind the name ----------------------------------------------------------------- */

static void take_prefix(struct writer *writer)
{
	static const char *const prefixes[] = {"non-virtual thunk to ",
					       "virtual thunk to ",
					       "covariant return thunk to ",
					       "transaction clone for ",
					       "TLS init function for ",
					       "TLS wrapper function for ",
					       NULL};

	for (size_t i = 0; prefixes[i]; i++)
		if (begins(writer->at, prefixes[i])) {
			if (!writer->form->is_bare)
				common_text_add(writer->out, prefixes[i]);
			writer->at += strlen(prefixes[i]);
			writer->begin = writer->out->size;
			return;
		}
}

/* Removes ".constprop.0", ".cold" and the like of compilers, and ".abi0" of Go. */
static void drop_clones(struct writer *writer)
{
	static const char *const clones[] = {"constprop",  "isra", "part", "cold", "lto_priv",
					     "localalias", "llvm", "abi0", NULL};
	struct ptl_bytes *out = writer->out;

	for (;;) {
		const char *name = (const char *)out->data + writer->begin;
		const char *dot = out->size > writer->begin ? memrchr(name, '.', out->size - writer->begin) : NULL;
		size_t size, i = 0;

		if (!dot || dot == name)
			return;
		size = out->size - writer->begin - (size_t)(dot + 1 - name);
		while (clones[i] && (strlen(clones[i]) != size || memcmp(clones[i], dot + 1, size)))
			i++;
		for (size_t digit = 0; !clones[i] && digit < size; digit++)
			if (!isdigit((unsigned char)dot[1 + digit]))
				return;
		if (!size)
			return;
		out->size -= size + 1;
	}
}

bool query_name_form(const char *name, const struct query_name_form *form, struct ptl_bytes *text)
{
	struct writer writer = {.form = form, .name = name, .at = name, .out = text, .begin = text->size};

	take_prefix(&writer);
	while (take_part(&writer))
		;
	if (writer.is_odd && form->keeps_arguments)
		copy_piece(&writer, writer.at, writer.at + strlen(writer.at));
	else if (writer.is_odd || !form->is_bare)
		common_text_add(text, writer.at);
	else if (form->drops_clones)
		drop_clones(&writer);
	return writer.has_trait;
}

/* Checks for a C++ or Rust name: a slash occurs only in operators. */
static bool is_shortened(const char *name)
{
	if (!strpbrk(name, "(<["))
		return false;
	for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
		const size_t before = (size_t)(at - name);

		if (before < strlen(OPERATOR) || !query_name_is_operator(name, at - strlen(OPERATOR)))
			return false;
	}
	return true;
}

void query_short_name(const char *name, struct ptl_bytes *text)
{
	static const struct query_name_form form = {0};

	if (is_shortened(name))
		(void)query_name_form(name, &form, text);
	else
		common_text_add(text, name);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares events with the terms of --only. */
#include "record/capture/filter.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"

#define PROVIDERS_MAX 64u

static void free_terms(struct record_terms *terms)
{
	common_id_set_free(&terms->pids);
	common_id_set_free(&terms->ids);
	common_bytes_free(&terms->programs);
	common_bytes_free(&terms->linked);
	record_event_query_free(terms->where);
	*terms = (struct record_terms){0};
}

void record_filter_free(struct record_filter *filter)
{
	free_terms(&filter->terms);
	for (size_t i = 0; i < filter->provider_count; i++) {
		free_terms(&filter->providers[i].terms);
		free(filter->providers[i].provider);
	}
	free(filter->providers);
	*filter = (struct record_filter){0};
}

/* ---- terms ----------------------------------------------------------------------------------- */

static int set_numbers(struct common_id_set *set, const char *value)
{
	struct common_id_set numbers = {0};
	const int status = *value ? common_id_set_parse(&numbers, value) : 0;

	if (status < 0) {
		common_id_set_free(&numbers);
		return status;
	}
	common_id_set_free(set);
	*set = numbers;
	return 0;
}

static int set_pids(struct record_terms *terms, const char *value)
{
	return set_numbers(&terms->pids, value);
}

static int set_ids(struct record_terms *terms, const char *value)
{
	return set_numbers(&terms->ids, value);
}

static int set_keywords(struct record_terms *terms, const char *value)
{
	uint64_t keywords = 0;

	if (*value && common_parse_u64(value, &keywords) < 0)
		return common_fail(PTL_MISUSE, "\"%s\" are no keywords: a number such as 0x6", value);
	terms->keywords = keywords;
	return 0;
}

/*
 * Adds the name of the file that a link leads to. A process shows that name: "cc" runs x86_64-linux-gnu-gcc-12, which
 * also works as a command. Searches PATH for the name as a shell does.
 */
static void add_linked(struct ptl_bytes *linked, const char *name, size_t size)
{
	const char *folder = getenv("PATH");
	struct ptl_bytes path = {0};
	char *program = NULL;

	while (folder && *folder && !program) {
		const size_t folder_size = strcspn(folder, ":");

		path.size = 0;
		common_text_format(&path, "%.*s/%.*s", (int)folder_size, folder, (int)size, name);
		if (folder_size && !path.failed && access(common_text_string(&path), X_OK) == 0)
			program = realpath(common_text_string(&path), NULL);
		folder += folder_size + (folder[folder_size] == ':');
	}
	common_bytes_free(&path);
	if (program)
		common_write_bytes(linked, common_base_name(program), strlen(common_base_name(program)) + 1);
	free(program);
}

static int set_programs(struct record_terms *terms, const char *value)
{
	struct ptl_bytes programs = {0}, linked = {0};

	while (*value) {
		const size_t size = strcspn(value, ",");

		if (!size || memchr(value, '/', size)) {
			common_bytes_free(&programs);
			common_bytes_free(&linked);
			return common_fail(PTL_MISUSE, "'%.*s' is no pattern of a program's name, which has no folders",
					   (int)size, value);
		}
		common_write_bytes(&programs, value, size);
		common_write_bytes(&programs, "", 1);
		add_linked(&linked, value, size);
		value += size + (value[size] == ',');
	}
	if (programs.failed || linked.failed) {
		common_bytes_free(&programs);
		common_bytes_free(&linked);
		return common_fail_memory("patterns", strlen(value));
	}
	common_bytes_free(&terms->programs);
	common_bytes_free(&terms->linked);
	terms->programs = programs;
	terms->linked = linked;
	return 0;
}

static int set_where(struct record_terms *terms, const char *value)
{
	struct record_event_query *where = NULL;
	const int status = *value ? record_event_query_new("where", value, &where) : 0;

	if (status < 0)
		return status;
	record_event_query_free(terms->where);
	terms->where = where;
	return 0;
}

/* ---- text of the terms ----------------------------------------------------------------------- */

static void write_numbers(struct ptl_bytes *text, const struct common_id_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		common_text_format(text, "%s%" PRIu32, i ? "," : "", set->ids[i]);
}

static bool write_pids(const struct record_terms *terms, struct ptl_bytes *text)
{
	write_numbers(text, &terms->pids);
	return terms->pids.count;
}

static bool write_ids(const struct record_terms *terms, struct ptl_bytes *text)
{
	write_numbers(text, &terms->ids);
	return terms->ids.count;
}

static bool write_programs(const struct record_terms *terms, struct ptl_bytes *text)
{
	const char *const all = (const char *)terms->programs.data;

	for (size_t at = 0; at < terms->programs.size; at += strlen(all + at) + 1)
		common_text_format(text, "%s%s", at ? "," : "", all + at);
	return terms->programs.size;
}

static bool write_keywords(const struct record_terms *terms, struct ptl_bytes *text)
{
	common_text_format(text, "0x%" PRIx64, terms->keywords);
	return terms->keywords;
}

static bool write_where(const struct record_terms *terms, struct ptl_bytes *text)
{
	if (terms->where)
		common_text_add(text, record_event_query_text(terms->where));
	return terms->where;
}

/* ---- table of the terms ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*set)(struct record_terms *terms, const char *value);
	/* Writes the value. Returns false without a value. */
	bool (*write)(const struct record_terms *terms, struct ptl_bytes *text);
} terms_table[] = {
	{"pid=", set_pids, write_pids},     {"program=", set_programs, write_programs},
	{"id=", set_ids, write_ids},        {"keywords=", set_keywords, write_keywords},
	{"where=", set_where, write_where},
};

#define TERMS (sizeof(terms_table) / sizeof(terms_table[0]))

/* Returns the index of the term that the text begins with; TERMS if unknown. */
static size_t find_term(const char *text)
{
	size_t i = 0;

	while (i < TERMS && strncmp(text, terms_table[i].name, strlen(terms_table[i].name)) != 0)
		i++;
	return i;
}

static bool is_empty(const struct record_terms *terms)
{
	struct ptl_bytes text = {0};
	bool given = false;

	for (size_t i = 0; !given && i < TERMS; i++)
		given = terms_table[i].write(terms, &text);
	common_bytes_free(&text);
	return !given;
}

static int add_provider(struct record_filter *filter, const char *name, size_t size,
			struct record_provider_terms **result)
{
	struct record_provider_terms *added;

	if (filter->provider_count == PROVIDERS_MAX)
		return common_fail(PTL_MISUSE, "at most %u providers have terms of their own", PROVIDERS_MAX);
	if (!common_vector_room(&filter->providers, filter->provider_count, sizeof(*filter->providers)))
		return common_fail_memory("terms of providers", sizeof(*added));
	added = &filter->providers[filter->provider_count];
	*added = (struct record_provider_terms){.provider = strndup(name, size)};
	if (!added->provider)
		return common_fail_memory("terms of providers", size);
	added->has_guid = common_guid_parse(added->provider, &added->guid);
	filter->provider_count++;
	*result = added;
	return 0;
}

static int find_provider(struct record_filter *filter, const char *name, size_t size,
			 struct record_provider_terms **result)
{
	for (size_t i = 0; i < filter->provider_count; i++)
		if (strlen(filter->providers[i].provider) == size &&
		    !memcmp(filter->providers[i].provider, name, size)) {
			*result = &filter->providers[i];
			return 0;
		}
	return add_provider(filter, name, size, result);
}

/* Removes a provider without terms. */
static void forget_provider(struct record_filter *filter, struct record_provider_terms *provider)
{
	if (!is_empty(&provider->terms))
		return;
	free_terms(&provider->terms);
	free(provider->provider);
	*provider = filter->providers[--filter->provider_count];
}

static int set_of_provider(struct record_filter *filter, const char *text, size_t size)
{
	const size_t term = find_term(text + size + 1);
	struct record_provider_terms *provider = NULL;
	int status = find_provider(filter, text, size, &provider);

	if (status < 0)
		return status;
	status = terms_table[term].set(&provider->terms, text + size + 1 + strlen(terms_table[term].name));
	forget_provider(filter, provider);
	return status;
}

static int set_term(struct record_filter *filter, const char *text)
{
	const size_t term = find_term(text), name = strcspn(text, ":");

	if (term < TERMS)
		return terms_table[term].set(&filter->terms, text + strlen(terms_table[term].name));
	if (name && text[name] && find_term(text + name + 1) < TERMS)
		return set_of_provider(filter, text, name);
	return common_fail(PTL_MISUSE,
			   "'%s' is none of pid=PID,..., program=PATTERN,..., id=ID,..., keywords=BITS and "
			   "where=EXPRESSION, also with PROVIDER: before it",
			   text);
}

int record_filter_set(struct record_filter *filter, const char *text)
{
	const int status = set_term(filter, text);

	filter->asks = filter->provider_count || !is_empty(&filter->terms);
	return status;
}

/* Writes the term number *i, and returns true. Reduces *i by the number of terms otherwise. */
static bool write_term(const struct record_terms *terms, const char *provider, unsigned *i, struct ptl_bytes *text)
{
	for (size_t n = 0; n < TERMS; n++) {
		text->size = 0;
		if (provider) {
			common_text_add(text, provider);
			common_text_add(text, ":");
		}
		common_text_add(text, terms_table[n].name);
		if (terms_table[n].write(terms, text) && !(*i)--)
			return true;
	}
	return false;
}

const char *record_filter_term(const struct record_filter *filter, unsigned i, struct ptl_bytes *text)
{
	bool found = write_term(&filter->terms, NULL, &i, text);

	for (size_t n = 0; !found && n < filter->provider_count; n++)
		found = write_term(&filter->providers[n].terms, filter->providers[n].provider, &i, text);
	return found ? common_text_string(text) : NULL;
}

int record_filter_copy(struct record_filter *filter, const struct record_filter *other)
{
	struct ptl_bytes text = {0};
	const char *term;
	int status = 0;

	for (unsigned i = 0; status == 0 && (term = record_filter_term(other, i, &text)); i++)
		status = record_filter_set(filter, term);
	common_bytes_free(&text);
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_program(const struct record_terms *terms, const struct record_program_name *name)
{
	const char *const all = (const char *)terms->programs.data, *const linked = (const char *)terms->linked.data;
	const char *const file = common_base_name(name->path);

	for (size_t at = 0; at < terms->programs.size; at += strlen(all + at) + 1)
		if (fnmatch(all + at, file, 0) == 0 || (*name->word && fnmatch(all + at, name->word, 0) == 0))
			return true;
	/* A program with many names, such as busybox, acts differently under another word. */
	if (*name->word && strcmp(name->word, file) != 0)
		return false;
	for (size_t at = 0; at < terms->linked.size; at += strlen(linked + at) + 1)
		if (strcmp(linked + at, file) == 0)
			return true;
	return false;
}

static bool runs_program(const struct record_terms *terms, const struct record_asked_event *asked_event)
{
	struct record_program_name name;

	return asked_event->program(asked_event->context, asked_event->event->pid, &name) && is_program(terms, &name);
}

static int terms_hold(struct record_terms *terms, const struct record_filtered_event *event, bool *wanted)
{
	const struct record_asked_event *asked_event = &event->asked_event;
	const struct ptl_descriptor *descriptor = &asked_event->event->descriptor;
	int status = 0;

	*wanted = common_id_set_has(&terms->pids, asked_event->event->pid) &&
		  (event->kernel || (common_id_set_has(&terms->ids, descriptor->id) &&
				     (descriptor->keyword & terms->keywords) == terms->keywords)) &&
		  (!terms->programs.size || runs_program(terms, asked_event));
	if (*wanted && terms->where)
		status = record_event_query_holds(terms->where, asked_event, wanted);
	terms->held |= *wanted;
	return status;
}

static bool is_of_provider(const struct record_provider_terms *provider, const struct record_filtered_event *event)
{
	const struct ptl_schema *schema = event->asked_event.schema;
	const char *name = event->provider ? event->provider : schema ? schema->provider_name : "";

	return provider->has_guid ? common_guid_equal(&provider->guid, &event->asked_event.event->descriptor.provider)
				  : fnmatch(provider->provider, name, FNM_CASEFOLD) == 0;
}

int record_filter_wants(struct record_filter *filter, const struct record_filtered_event *event, bool *wanted)
{
	int status = terms_hold(&filter->terms, event, wanted);

	for (size_t i = 0; status == 0 && *wanted && i < filter->provider_count; i++)
		if (is_of_provider(&filter->providers[i], event))
			status = terms_hold(&filter->providers[i].terms, event, wanted);
	return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* "P:id=7 P:where=x > 1" */
static void write_provider_terms(const struct record_terms *terms, const char *provider, struct ptl_bytes *text)
{
	struct ptl_bytes term = {0};

	for (unsigned n = 0;; n++) {
		unsigned i = n;

		if (!write_term(terms, provider, &i, &term))
			break;
		common_text_add(text, n ? " " : "");
		common_text_add(text, common_text_string(&term));
	}
	common_bytes_free(&term);
}

static void warn(const struct record_terms *terms, const char *provider, const struct record_schemas *schemas)
{
	const char *field = terms->where ? record_event_query_unknown(terms->where, schemas) : NULL;
	struct ptl_bytes text = {0};

	if (field)
		common_message_warning("--only where=%s: no event that came has a field %s",
				       record_event_query_text(terms->where), field);
	else if (!terms->held && !is_empty(terms)) {
		write_provider_terms(terms, provider, &text);
		common_message_warning("--only %s: no event that came is one of those", common_text_string(&text));
		common_bytes_free(&text);
	}
}

void record_filter_warn(const struct record_filter *filter, const struct record_schemas *schemas)
{
	warn(&filter->terms, NULL, schemas);
	for (size_t i = 0; i < filter->provider_count; i++)
		warn(&filter->providers[i].terms, filter->providers[i].provider, schemas);
}

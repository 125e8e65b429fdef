/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts manifests to schemas and maps. */
#include "import/etl/schema/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/writer.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/utf16.h"
#include "common/vector.h"
#include "import/etl/schema/manifest_types.h"
#include "import/etl/schema/message.h"
#include "import/etl/schema/xml.h"

#define KEY_MAX 512u          /* maximum bytes of a lookup key */
#define ENTRIES_MAX 4096u     /* maximum entries of a map */
#define NAMES_MAX 65536u      /* maximum names of each kind in a manifest */
#define STRUCTS_MAX 8u        /* maximum nesting of structures */
#define WALK_MAX (256u << 20) /* maximum bytes of parsed templates; many events may share a large template */

/* A named element, with a number. */
struct named {
	struct etl_slice name, message;
	uint64_t value;
	size_t at;  /* end of the element's tag */
	size_t end; /* end of a template; 0: missing */
};

struct names {
	struct common_byte_map index;
	struct named *list;
	size_t count, capacity;
};

struct manifest {
	struct etl_known *known;
	struct ptl_writer *writer;
	const char *text;
	size_t size;
	struct names strings, tasks, opcodes, levels, keywords, channels, templates;
	struct ptl_guid provider;
	struct etl_slice provider_name;
	size_t walked;
};

/* ---- names ---------------------------------------------------------------------------------------------- */

static void names_free(struct names *names)
{
	common_byte_map_free(&names->index);
	free(names->list);
	*names = (struct names){0};
}

/* Makes a lookup key. An opcode may belong to a task; the key then begins with the task's name. */
static size_t make_key(struct etl_slice owner, struct etl_slice name, char key[KEY_MAX])
{
	if (owner.size + name.size + 1 > KEY_MAX)
		return 0;
	memcpy(key, owner.size ? owner.text : "", owner.size);
	key[owner.size] = 0;
	memcpy(key + owner.size + 1, name.size ? name.text : "", name.size);
	return owner.size + 1 + name.size;
}

static int add_named(struct names *names, struct etl_slice owner, const struct named *named)
{
	char key[KEY_MAX];
	const size_t size = make_key(owner, named->name, key);

	if (!size || names->count == NAMES_MAX)
		return 0;
	if (COMMON_VECTOR_RESERVE(names->list, names->capacity, names->count + 1, "a manifest"))
		return PTL_NO_MEMORY;
	names->list[names->count] = *named;
	return common_byte_map_put(&names->index, key, size, names->count++);
}

static const struct named *find_name(const struct names *names, struct etl_slice owner, struct etl_slice name)
{
	char key[KEY_MAX];
	const size_t size = make_key(owner, name, key);
	const uint64_t *found = size ? common_byte_map_get(&names->index, key, size) : NULL;

	return found ? &names->list[*found] : NULL;
}

static const struct etl_slice nobody;

static uint64_t number(struct etl_slice text)
{
	char copy[32];

	if (text.size >= sizeof(copy))
		return 0;
	memcpy(copy, text.size ? text.text : "", text.size);
	copy[text.size] = 0;
	return strtoull(copy, NULL, 0);
}

static struct etl_slice attribute(const struct etl_tag *tag, const char *name)
{
	struct etl_slice value;

	return etl_tag_attribute(tag, name, &value) ? value : nobody;
}

/* Resolves $(string.NAME), an entry of the string table. */
static struct etl_slice resolve_string(const struct manifest *manifest, struct etl_slice message)
{
	static const char mark[] = "$(string.";
	const size_t length = sizeof(mark) - 1;
	const struct named *named;

	if (message.size <= length || memcmp(message.text, mark, length) != 0)
		return message;
	named = find_name(&manifest->strings, nobody,
			  (struct etl_slice){message.text + length, message.size - length - 1});
	return named ? named->message : nobody;
}

static const char *keep_text(struct etl_schema *schema, struct etl_slice text)
{
	struct ptl_bytes out = {0};
	const char *kept;

	etl_xml_text(text, &out);
	kept = out.failed ? NULL : etl_schema_text(schema, out.data ? (const char *)out.data : "", out.size);
	common_bytes_free(&out);
	return kept;
}

/* ---- first pass: names that events refer to ------------------------------------------------------------------ */

static int collect_strings(struct manifest *manifest)
{
	struct etl_xml xml = {manifest->text, manifest->size, 0};
	struct etl_tag tag;
	int status = 0;

	while (!status && etl_xml_next(&xml, &tag))
		if (etl_tag_is(&tag, "string") && !tag.closes)
			status = add_named(&manifest->strings, nobody,
					   &(struct named){attribute(&tag, "id"), attribute(&tag, "value"), 0, 0, 0});
	return status;
}

static int collect_names(struct manifest *manifest, struct etl_xml xml)
{
	const struct {
		const char *tag, *name, *value;
		struct names *names;
	} kinds[] = {
		{"task", "name", "value", &manifest->tasks},       {"opcode", "name", "value", &manifest->opcodes},
		{"level", "name", "value", &manifest->levels},     {"keyword", "name", "mask", &manifest->keywords},
		{"channel", "name", "value", &manifest->channels}, {"template", "tid", "", &manifest->templates},
	};
	struct etl_slice task = nobody;
	struct etl_tag tag;
	int status = 0;

	while (!status && etl_xml_next(&xml, &tag)) {
		if (tag.closes && etl_tag_is(&tag, "provider"))
			break;
		if (tag.closes && etl_tag_is(&tag, "template") && manifest->templates.count)
			manifest->templates.list[manifest->templates.count - 1].end = xml.at < xml.size ? xml.at + 1
													: xml.size;
		if (etl_tag_is(&tag, "task"))
			task = tag.closes || tag.empty ? nobody : attribute(&tag, "name");
		for (size_t i = 0; !tag.closes && !status && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			const struct named named = {attribute(&tag, kinds[i].name), attribute(&tag, "message"),
						    number(attribute(&tag, kinds[i].value)), tag.empty ? 0 : xml.at, 0};

			if (etl_tag_is(&tag, kinds[i].tag))
				status = add_named(kinds[i].names, i == 1 ? task : nobody, &named);
		}
	}
	return status;
}

/* ---- maps ------------------------------------------------------------------------------------------------- */

static int write_map(struct manifest *manifest, struct ptl_map *map)
{
	map->provider = manifest->provider;
	for (size_t i = 0; i < map->count; i++)
		if (!map->entries[i].name)
			return common_fail_memory("a map", map->count);
	if (!map->name)
		return common_fail_memory("a map", map->count);
	return map->count ? etl_map_write(&manifest->known->budget, manifest->writer, map) : 0;
}

/* Writes all names of a kind as a map. */
static int write_names(struct manifest *manifest, const struct names *names, uint32_t kind)
{
	struct etl_schema *texts = etl_schema_new();
	struct ptl_map_entry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
	struct ptl_map map = {.kind = kind, .name = "", .entries = entries};
	int status = texts && entries ? 0 : common_fail_memory("a map", ENTRIES_MAX * sizeof(*entries));

	for (size_t i = 0; !status && i < names->count && map.count < ENTRIES_MAX; i++)
		entries[map.count++] = (struct ptl_map_entry){names->list[i].value,
							      keep_text(texts, names->list[i].name)};
	if (!status)
		status = write_map(manifest, &map);
	etl_schema_free(texts);
	free(entries);
	return status;
}

/* Writes a value map or bit map. The entries follow the start tag. */
static int write_value_map(struct manifest *manifest, struct etl_xml xml, const struct etl_tag *start)
{
	struct etl_schema *texts = etl_schema_new();
	struct ptl_map_entry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
	struct ptl_map map = {.kind = etl_tag_is(start, "bitMap") ? PTL_MAP_FLAGS : PTL_MAP_VALUES, .entries = entries};
	struct etl_tag tag;
	int status = texts && entries ? 0 : common_fail_memory("a map", ENTRIES_MAX * sizeof(*entries));

	if (!status)
		map.name = keep_text(texts, attribute(start, "name"));
	while (!status && map.count < ENTRIES_MAX && etl_xml_next(&xml, &tag) && etl_tag_is(&tag, "map") && !tag.closes)
		entries[map.count++] = (struct ptl_map_entry){
			number(attribute(&tag, "value")),
			keep_text(texts, resolve_string(manifest, attribute(&tag, "message")))};
	if (!status && map.name && *map.name)
		status = write_map(manifest, &map);
	etl_schema_free(texts);
	free(entries);
	return status;
}

static int write_maps(struct manifest *manifest, struct etl_xml xml)
{
	struct etl_tag tag;
	int status = write_names(manifest, &manifest->keywords, PTL_MAP_KEYWORDS);

	if (!status)
		status = write_names(manifest, &manifest->tasks, PTL_MAP_TASKS);
	if (!status)
		status = write_names(manifest, &manifest->levels, PTL_MAP_LEVELS);
	if (!status)
		status = write_names(manifest, &manifest->channels, PTL_MAP_CHANNELS);
	while (!status && etl_xml_next(&xml, &tag) && !(tag.closes && etl_tag_is(&tag, "provider")))
		if (!tag.closes && !tag.empty && (etl_tag_is(&tag, "valueMap") || etl_tag_is(&tag, "bitMap")))
			status = write_value_map(manifest, xml, &tag);
	return status;
}

/* ---- fields ----------------------------------------------------------------------------------------------- */

static bool is_number(struct etl_slice text)
{
	return text.size && text.text[0] >= '0' && text.text[0] <= '9';
}

/* Parses a size: a number, or the name of an earlier field. */
static void set_size(const struct etl_schema *schema, struct etl_slice text, uint8_t *is, uint32_t *value)
{
	if (!text.size)
		return;
	*is = is_number(text) ? ETL_SIZE_FIXED : ETL_SIZE_UNKNOWN;
	*value = (uint32_t)number(text);
	for (size_t i = 0; i + 1 < schema->field_count; i++)
		if (strlen(schema->fields[i].name) == text.size &&
		    memcmp(schema->fields[i].name, text.text, text.size) == 0) {
			*is = ETL_SIZE_FIELD;
			*value = (uint32_t)i;
		}
}

static bool add_field(struct etl_schema *schema, const struct etl_tag *tag)
{
	struct etl_field *field = etl_schema_field(schema);
	const struct etl_slice map = attribute(tag, "map");

	if (!field)
		return false;
	field->name = keep_text(schema, attribute(tag, "name"));
	if (!field->name) {
		field->name = "";
		return false;
	}
	if (etl_tag_is(tag, "struct")) {
		field->in = ETL_IN_STRUCT;
		set_size(schema, attribute(tag, "count"), &field->count_is, &field->count);
		return true;
	}
	field->in = etl_manifest_in(attribute(tag, "inType"));
	field->out = etl_manifest_out(attribute(tag, "outType"));
	set_size(schema, attribute(tag, "count"), &field->count_is, &field->count);
	set_size(schema, attribute(tag, "length"), &field->length_is, &field->length);
	if (field->in == ETL_IN_BINARY && field->out == ETL_OUT_IPV6 && field->length_is == ETL_SIZE_OWN) {
		field->length_is = ETL_SIZE_FIXED;
		field->length = 16;
	}
	if (map.size)
		field->map = keep_text(schema, map);
	return true;
}

/* Adds the fields of a template. Returns false if a field is not understood. */
static bool add_fields(struct manifest *manifest, struct etl_schema *schema, const struct named *template)
{
	struct etl_xml xml = {manifest->text, template->end, template->at};
	size_t structs[STRUCTS_MAX], depth = 0;
	struct etl_tag tag;

	if (template->end < template->at || manifest->walked > WALK_MAX)
		return false;
	manifest->walked += template->end - template->at;
	while (etl_xml_next(&xml, &tag)) {
		if (tag.closes && etl_tag_is(&tag, "template"))
			return depth == 0;
		if (tag.closes && etl_tag_is(&tag, "struct") && depth) {
			const size_t first = structs[--depth];

			schema->fields[first].members = (uint32_t)(schema->field_count - first - 1);
		}
		if (tag.closes || (!etl_tag_is(&tag, "data") && !etl_tag_is(&tag, "struct")))
			continue;
		if (etl_tag_is(&tag, "struct") && !tag.empty) {
			if (depth == STRUCTS_MAX)
				return false;
			structs[depth++] = schema->field_count;
		}
		if (!add_field(schema, &tag))
			return false;
	}
	return false;
}

/* ---- events ------------------------------------------------------------------------------------------------- */

static struct etl_slice without_prefix(struct etl_slice name)
{
	if (name.size > 4 && memcmp(name.text, "win:", 4) == 0)
		return (struct etl_slice){name.text + 4, name.size - 4};
	return name;
}

/* Keyword names are separated by blanks. */
static uint64_t keywords_of(const struct manifest *manifest, struct etl_slice names)
{
	uint64_t bits = 0;

	for (size_t at = 0; at < names.size;) {
		size_t end = at;
		const struct named *named;

		while (end < names.size && names.text[end] != ' ')
			end++;
		named = find_name(&manifest->keywords, nobody, (struct etl_slice){names.text + at, end - at});
		bits |= named ? named->value : 0;
		at = end + 1;
	}
	return bits;
}

static void set_numbers(const struct manifest *manifest, const struct etl_tag *tag, struct ptl_schema *schema)
{
	const struct etl_slice task = attribute(tag, "task"), opcode = attribute(tag, "opcode");
	const struct named *named = find_name(&manifest->tasks, nobody, task);
	uint64_t value;

	schema->provider = manifest->provider;
	schema->id = (uint16_t)number(attribute(tag, "value"));
	schema->version = (uint8_t)number(attribute(tag, "version"));
	schema->task = named ? (uint16_t)named->value : 0;
	if (etl_manifest_level(attribute(tag, "level"), &value))
		schema->level = (uint8_t)value;
	schema->keyword = keywords_of(manifest, attribute(tag, "keywords"));
	if (etl_manifest_opcode(opcode, &value)) {
		schema->opcode = (uint8_t)value;
		return;
	}
	named = find_name(&manifest->opcodes, task, opcode);
	if (!named)
		named = find_name(&manifest->opcodes, nobody, opcode);
	schema->opcode = named ? (uint8_t)named->value : 0;
}

static bool set_texts(const struct manifest *manifest, const struct etl_tag *tag, struct etl_schema *schema)
{
	struct ptl_schema *ptl = &schema->ptl;
	const char *message = keep_text(schema, resolve_string(manifest, attribute(tag, "message")));
	const struct etl_slice symbol = attribute(tag, "symbol");

	ptl->provider_name = keep_text(schema, manifest->provider_name);
	ptl->task_name = keep_text(schema, attribute(tag, "task"));
	ptl->opcode_name = keep_text(schema, without_prefix(attribute(tag, "opcode")));
	ptl->message = message ? etl_message(schema, message) : NULL;
	if (!ptl->provider_name || !ptl->task_name || !ptl->opcode_name || !ptl->message)
		return false;
	ptl->event_name = *ptl->task_name || !symbol.size ? etl_event_name(schema) : keep_text(schema, symbol);
	return ptl->event_name != NULL;
}

static int add_event(struct manifest *manifest, const struct etl_tag *tag)
{
	struct etl_schema *schema = etl_schema_new();
	const struct etl_slice name = attribute(tag, "template");
	const struct named *template = name.size ? find_name(&manifest->templates, nobody, name) : NULL;
	bool good;
	int status = 0;

	if (!schema)
		return common_fail_memory("a schema", sizeof(*schema));
	set_numbers(manifest, tag, &schema->ptl);
	good = set_texts(manifest, tag, schema) && (!name.size || template) &&
	       (!template || !template->at || add_fields(manifest, schema, template));
	if (good)
		status = etl_schema_finish(schema);
	if (good && !status)
		return etl_known_add(manifest->known, schema);
	etl_schema_free(schema);
	return status == PTL_NO_MEMORY ? status : 0;
}

static int add_events(struct manifest *manifest, struct etl_xml xml)
{
	struct etl_tag tag;
	int status = 0;

	while (!status && etl_known_has_room(manifest->known) && etl_xml_next(&xml, &tag) &&
	       !(tag.closes && etl_tag_is(&tag, "provider")))
		if (etl_tag_is(&tag, "event") && !tag.closes)
			status = add_event(manifest, &tag);
	return status;
}

/*
 * ---- a manifest ----------------------------------------------------------------------------------------------------
 */

static void forget_provider(struct manifest *manifest)
{
	names_free(&manifest->tasks);
	names_free(&manifest->opcodes);
	names_free(&manifest->levels);
	names_free(&manifest->keywords);
	names_free(&manifest->channels);
	names_free(&manifest->templates);
}

static int read_provider(struct manifest *manifest, const struct etl_tag *tag, struct etl_xml xml)
{
	const struct etl_slice guid = attribute(tag, "guid");
	char text[PTL_GUID_TEXT_SIZE + 2];
	int status;

	if (guid.size >= sizeof(text))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)guid.size, guid.size ? guid.text : "");
	if (!common_guid_parse(text, &manifest->provider))
		return 0;
	manifest->provider_name = attribute(tag, "name");
	status = collect_names(manifest, xml);
	if (!status)
		status = write_maps(manifest, xml);
	if (!status)
		status = add_events(manifest, xml);
	forget_provider(manifest);
	return status;
}

static int read_text(struct manifest *manifest)
{
	struct etl_xml xml = {manifest->text, manifest->size, 0};
	struct etl_tag tag;
	int status = collect_strings(manifest);

	while (!status && etl_xml_next(&xml, &tag))
		if (etl_tag_is(&tag, "provider") && !tag.closes && !tag.empty)
			status = read_provider(manifest, &tag, xml);
	forget_provider(manifest);
	names_free(&manifest->strings);
	return status;
}

int etl_manifest_read(struct etl_known *known, struct ptl_writer *writer, const char *text, size_t size)
{
	struct manifest manifest = {.known = known, .writer = writer, .text = text, .size = size};
	struct ptl_bytes utf8 = {0};
	int status;

	if (size >= 2 && (uint8_t)text[0] == 0xff && (uint8_t)text[1] == 0xfe) {
		common_read_utf16_units((const uint8_t *)text + 2, (size - 2) / 2, &utf8);
		if (utf8.failed)
			return common_fail_memory("a manifest", size);
		manifest.text = (const char *)utf8.data;
		manifest.size = utf8.size;
	}
	status = manifest.size ? read_text(&manifest) : 0;
	common_bytes_free(&utf8);
	return status;
}

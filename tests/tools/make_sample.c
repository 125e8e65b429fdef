/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace file from a text description, so that tests need no binary samples. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>
#include <ptl/symbols.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/program/options.h"
#include "common/text/guid.h"
#include "common/text/utf16.h"

/*
 *     make_sample TEXT OUT.ptl
 *
 * Each line is empty, a # comment, or a statement: a word and what belongs to it, as key=value. A value
 * with blanks stands in double quotes, in which \xNN is a byte. Times are nanoseconds, ids 4294967295 none.
 *
 *     machine source=qemu software=1 clock=4 start=1000 end=9000 timing=1
 *     provenance tool=ptl-record version=1 command="..." wall=0
 *     loss kind=1 count=2 bytes=10 pid=1 tid=1 first=5 last=7 cause="no space left"
 *     bytes NAME 90 90 c3                  gives code a name
 *     symbols NAME 401000:10:T:main ...    and a symbol table: address:size:type:name, in hexadecimal
 *     file NAME type=3 path=program        and any other blob, from a file
 *     process start pid=1 parent=0 time=0 key=1 image=/bin/a command="a b" status=0 opcode=1
 *     thread pid=1 tid=1 opcode=1 time=0 name=main
 *     image pid=1 opcode=10 base=0x401000 size=4096 offset=0 default=0x401000 path=/bin/a
 *           prot=5 build=0102 code=NAME symbols=NAME debug=NAME time=0         (one line)
 *     code pid=1 base=0x401000 size=3 code=NAME time=5
 *     schema provider=GUID id=1 version=0 opcode=0 provider_name=P event_name=E task_name=T
 *            opcode_name=O message="{0}" level=4 channel=0 task=0 keyword=0 tags=0
 *            fields=Name:type:format:length:array:array_length:map:tags,...   (one line; behind Name, numbers of
 *                                          ptl/event.h but for the map's name, and as many as are needed)
 *     map provider=GUID kind=0 name=M entries=0:None,1:Wrong
 *     event provider=GUID id=1 version=0 opcode=0 level=4 channel=0 task=0 keyword=0 pid=1 tid=1 time=7
 *           activity=GUID related=GUID injected=0 extended=7:0102,8:  payload=0102'text'00w'wide'   (one line;
 *                                          w'...' is UTF-16 without an end)
 *     pt pid=1 tid=1 cpu=4294967295 path=a.pt time=0 end=8  a stream; its PSBs are found, with their times
 *                                          from time to end in equal steps
 *     hole 100                             a hole behind the stream's bytes so far
 *     abandon                              ends without the index, as a killed writer does
 */
#define WORDS_MAX 64
#define NAMES_MAX 64
#define FIELDS_MAX 256

struct name {
	char text[32];
	struct ptl_bytes data;
	uint32_t type;
	uint8_t hash[PTL_HASH_SIZE];
	bool written;
};

struct maker {
	const char *path;
	unsigned line;
	struct ptl_writer *writer;
	uint32_t events; /* stream */
	struct ptl_stream pt;
	struct name names[NAMES_MAX];
	size_t name_count;
	char *words[WORDS_MAX]; /* words of the line */
	size_t word_count;
	bool abandoned;
};

static void __attribute__((noreturn, format(printf, 2, 3))) refuse(const struct maker *maker, const char *format, ...)
{
	va_list list;

	fprintf(stderr, "%s:%u: ", maker->path, maker->line);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

static void must(const struct maker *maker, int status)
{
	if (status < 0)
		refuse(maker, "%s", ptl_error_text());
}

/* ---- words --------------------------------------------------------------------------------------- */

static unsigned hex_digit(const struct maker *maker, char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c | 0x20) : NULL;

	if (!found)
		refuse(maker, "'%c' is no hexadecimal digit", c);
	return (unsigned)(found - digits);
}

/* Splits the line in place at blanks. Quotes join words and are removed; \xNN inside quotes is a byte. */
static void split(struct maker *maker, char *line)
{
	char *out = line;
	bool quoted = false, in_word = false;

	maker->word_count = 0;
	for (const char *p = line; *p && *p != '\n'; p++) {
		if (!quoted && *p == '#')
			break;
		if (!quoted && (*p == ' ' || *p == '\t')) {
			if (in_word)
				*out++ = 0;
			in_word = false;
			continue;
		}
		if (!in_word) {
			if (maker->word_count == WORDS_MAX)
				refuse(maker, "too many words");
			out = line + (p - line);
			maker->words[maker->word_count++] = out;
			in_word = true;
		}
		if (*p == '"') {
			quoted = !quoted;
		} else if (quoted && p[0] == '\\' && p[1] == 'x' && p[2]) {
			*out++ = (char)(hex_digit(maker, p[2]) << 4 | hex_digit(maker, p[3]));
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = 0;
}

static const char *text_of(const struct maker *maker, const char *key, const char *otherwise)
{
	const size_t length = strlen(key);

	for (size_t i = 1; i < maker->word_count; i++)
		if (strncmp(maker->words[i], key, length) == 0 && maker->words[i][length] == '=')
			return maker->words[i] + length + 1;
	return otherwise;
}

static uint64_t number_of(const struct maker *maker, const char *key, uint64_t otherwise)
{
	const char *text = text_of(maker, key, NULL);
	uint64_t value;

	if (!text)
		return otherwise;
	must(maker, common_parse_u64(text, &value));
	return value;
}

static void add_hex(const struct maker *maker, const char *text, struct ptl_bytes *bytes)
{
	for (; *text; text += 2)
		common_write_le(bytes, hex_digit(maker, text[0]) << 4 | hex_digit(maker, text[1]), 1);
}

/* ---- blobs --------------------------------------------------------------------------------------- */

static struct name *new_name(struct maker *maker, uint32_t type)
{
	struct name *name = &maker->names[maker->name_count];

	if (maker->name_count++ == NAMES_MAX || maker->word_count < 2)
		refuse(maker, "a name was expected, and only %d fit", NAMES_MAX);
	snprintf(name->text, sizeof(name->text), "%s", maker->words[1]);
	name->type = type;
	return name;
}

static bool hash_of(struct maker *maker, const char *key, uint8_t hash[PTL_HASH_SIZE])
{
	const char *text = text_of(maker, key, NULL);

	for (size_t i = 0; text && i < maker->name_count; i++) {
		struct name *name = &maker->names[i];

		if (strcmp(name->text, text) != 0)
			continue;
		if (!name->written)
			must(maker,
			     ptl_writer_blob(maker->writer, name->type, name->data.data, name->data.size, name->hash));
		name->written = true;
		memcpy(hash, name->hash, PTL_HASH_SIZE);
		return true;
	}
	if (text)
		refuse(maker, "there is no '%s'", text);
	return false;
}

static void make_bytes(struct maker *maker)
{
	struct name *name = new_name(maker, PTL_BLOB_CODE);

	for (size_t i = 2; i < maker->word_count; i++)
		add_hex(maker, maker->words[i], &name->data);
}

static void make_symbols(struct maker *maker)
{
	struct name *name = new_name(maker, PTL_BLOB_SYMBOLS);
	struct ptl_symbol symbols[WORDS_MAX];
	size_t count = 0;

	for (size_t i = 2; i < maker->word_count; i++) {
		char *rest, *word = maker->words[i];

		symbols[count].address = strtoull(word, &rest, 16);
		symbols[count].size = strtoull(rest + 1, &rest, 16);
		symbols[count].type = (uint8_t)rest[1];
		symbols[count++].name = rest + 3;
	}
	must(maker, ptl_symbols_encode(symbols, count, &name->data));
}

static void make_file(struct maker *maker)
{
	struct name *name = new_name(maker, (uint32_t)number_of(maker, "type", PTL_BLOB_FILE));

	must(maker, common_read_file(text_of(maker, "path", ""), (size_t)1 << 30, &name->data.data, &name->data.size));
}

/* ---- records ------------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static void make_machine(struct maker *maker)
{
	struct ptl_machine machine = {
		.software = number_of(maker, "software", 0),
		.cpus = (uint32_t)number_of(maker, "cpus", 0),
		.vendor = (uint32_t)number_of(maker, "vendor", 0),
		.family = (uint16_t)number_of(maker, "family", 0),
		.model = (uint8_t)number_of(maker, "model", 0),
		.stepping = (uint8_t)number_of(maker, "stepping", 0),
		.mode = (uint8_t)number_of(maker, "mode", 64),
		.clock = (uint32_t)number_of(maker, "clock", PTL_CLOCK_MONOTONIC),
		.start_time = number_of(maker, "start", 0),
		.end_time = number_of(maker, "end", 0),
		.wall_start = (int64_t)number_of(maker, "wall", 0),
		.tsc_multiplier = (uint32_t)number_of(maker, "tsc_multiplier", 0),
		.tsc_frequency = number_of(maker, "tsc_frequency", 0),
		.timing = (uint32_t)number_of(maker, "timing", 0),
		.return_compression = number_of(maker, "retcomp", 0),
		.psb_period = number_of(maker, "psb_period", 0),
	};

	copy_text(machine.source, sizeof(machine.source), text_of(maker, "source", "raw"));
	copy_text(machine.hostname, sizeof(machine.hostname), text_of(maker, "host", ""));
	copy_text(machine.kernel, sizeof(machine.kernel), text_of(maker, "kernel", ""));
	copy_text(machine.boot_id, sizeof(machine.boot_id), text_of(maker, "boot", ""));
	copy_text(machine.architecture, sizeof(machine.architecture), "x86_64");
	copy_text(machine.cpu_name, sizeof(machine.cpu_name), text_of(maker, "cpu", ""));
	must(maker, ptl_writer_machine(maker->writer, &machine));
}

static void make_provenance(struct maker *maker)
{
	const struct ptl_provenance_input input = {text_of(maker, "input", ""), 5, PTL_HASH_SHA256, {1, 2, 3}};
	const struct ptl_provenance provenance = {
		.tool = text_of(maker, "tool", ""),
		.version = text_of(maker, "version", ""),
		.command = text_of(maker, "command", ""),
		.wall_time = (int64_t)number_of(maker, "wall", 0),
		.rules = text_of(maker, "rules", ""),
		.inputs = *input.name != 0,
		.input = &input,
	};

	must(maker, ptl_writer_provenance(maker->writer, &provenance));
}

static void make_loss(struct maker *maker)
{
	const struct ptl_loss loss = {
		.kind = (uint32_t)number_of(maker, "kind", 0),
		.stream = (uint32_t)number_of(maker, "stream", PTL_NO_ID),
		.pid = (uint32_t)number_of(maker, "pid", PTL_NO_ID),
		.tid = (uint32_t)number_of(maker, "tid", PTL_NO_ID),
		.count = number_of(maker, "count", 0),
		.bytes = number_of(maker, "bytes", 0),
		.first_time = number_of(maker, "first", 0),
		.last_time = number_of(maker, "last", 0),
		.cause = text_of(maker, "cause", ""),
	};

	must(maker, ptl_writer_loss(maker->writer, &loss));
}

/* ---- events -------------------------------------------------------------------------------------- */

static void put_event(struct maker *maker, struct ptl_event *event)
{
	event->time = number_of(maker, "time", 0);
	event->cpu = (uint32_t)number_of(maker, "cpu", PTL_NO_CPU);
	event->pid = (uint32_t)number_of(maker, "pid", PTL_NO_ID);
	event->tid = (uint32_t)number_of(maker, "tid", event->pid);
	must(maker, ptl_writer_event(maker->writer, maker->events, event));
}

static void make_process(struct maker *maker)
{
	const struct ptl_process_event data = {
		.unique_key = number_of(maker, "key", 0),
		.process_id = (uint32_t)number_of(maker, "pid", 0),
		.parent_id = (uint32_t)number_of(maker, "parent", 0),
		.exit_status = (int32_t)number_of(maker, "status", 0),
		.has_exit_status = text_of(maker, "status", NULL) != NULL,
		.image_file_name = text_of(maker, "image", ""),
		.command_line = text_of(maker, "command", ""),
	};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	must(maker, ptl_process_encode(&data, (uint8_t)number_of(maker, "opcode", PTL_OPCODE_START), &storage, &event));
	put_event(maker, &event);
	common_bytes_free(&storage);
}

static void make_thread(struct maker *maker)
{
	const struct ptl_thread_event data = {
		.process_id = (uint32_t)number_of(maker, "pid", 0),
		.thread_id = (uint32_t)number_of(maker, "tid", 0),
		.start_address = number_of(maker, "start", 0),
		.name = text_of(maker, "name", ""),
	};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	must(maker, ptl_thread_encode(&data, (uint8_t)number_of(maker, "opcode", PTL_OPCODE_START), &storage, &event));
	put_event(maker, &event);
	common_bytes_free(&storage);
}

static void make_image(struct maker *maker)
{
	struct ptl_image_event data = {
		.base = number_of(maker, "base", 0),
		.size = number_of(maker, "size", 0),
		.process_id = (uint32_t)number_of(maker, "pid", 0),
		.default_base = number_of(maker, "default", 0),
		.file_name = text_of(maker, "path", ""),
		.file_offset = number_of(maker, "offset", 0),
		.protection = (uint32_t)number_of(maker, "prot", 5),
	};
	struct ptl_bytes storage = {0}, build = {0};
	struct ptl_event event = {0};

	add_hex(maker, text_of(maker, "build", ""), &build);
	if (build.size > PTL_BUILD_ID_MAX)
		refuse(maker, "the build id is too long");
	if (build.size)
		memcpy(data.build_id, build.data, build.size);
	data.build_id_size = build.size;
	data.has_code = hash_of(maker, "code", data.code);
	data.has_symbols = hash_of(maker, "symbols", data.symbols);
	data.has_debug = hash_of(maker, "debug", data.debug);
	must(maker, ptl_image_encode(&data, (uint8_t)number_of(maker, "opcode", PTL_OPCODE_LOAD), &storage, &event));
	put_event(maker, &event);
	common_bytes_free(&storage);
	common_bytes_free(&build);
}

static void make_code(struct maker *maker)
{
	struct ptl_code_event data = {
		.process_id = (uint32_t)number_of(maker, "pid", 0),
		.base = number_of(maker, "base", 0),
		.size = number_of(maker, "size", 0),
	};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	hash_of(maker, "code", data.code);
	must(maker, ptl_code_encode(&data, &storage, &event));
	put_event(maker, &event);
	common_bytes_free(&storage);
}

static struct ptl_guid guid_of(const struct maker *maker)
{
	struct ptl_guid guid;

	if (!common_guid_parse(text_of(maker, "provider", ""), &guid))
		refuse(maker, "provider= needs a GUID");
	return guid;
}

/* "Name:type:format:..." */
static void parse_field(const struct maker *maker, char *text, struct ptl_field *field)
{
	uint32_t numbers[5] = {0};
	char *next = strchr(text, ':'), *save = text;

	if (!next)
		refuse(maker, "Name:type:format was expected");
	*field = (struct ptl_field){.name = strsep(&save, ":")};
	for (size_t i = 0; i < 5 && save; i++)
		numbers[i] = (uint32_t)strtoul(strsep(&save, ":"), NULL, 10);
	field->type = (uint8_t)numbers[0];
	field->format = (uint8_t)numbers[1];
	field->length = numbers[2];
	field->array = (uint8_t)numbers[3];
	field->array_length = numbers[4];
	field->map = save ? strsep(&save, ":") : NULL;
	field->tags = save ? (uint32_t)strtoul(save, NULL, 10) : 0;
}

static void make_schema(struct maker *maker)
{
	struct ptl_field fields[FIELDS_MAX];
	const struct ptl_schema schema = {
		.provider = guid_of(maker),
		.id = (uint16_t)number_of(maker, "id", 0),
		.version = (uint8_t)number_of(maker, "version", 0),
		.opcode = (uint8_t)number_of(maker, "opcode", 0),
		.provider_name = text_of(maker, "provider_name", ""),
		.event_name = text_of(maker, "event_name", ""),
		.task_name = text_of(maker, "task_name", ""),
		.opcode_name = text_of(maker, "opcode_name", ""),
		.message = text_of(maker, "message", ""),
		.level = (uint8_t)number_of(maker, "level", 0),
		.channel = (uint8_t)number_of(maker, "channel", 0),
		.task = (uint16_t)number_of(maker, "task", 0),
		.keyword = number_of(maker, "keyword", 0),
		.tags = (uint32_t)number_of(maker, "tags", 0),
		.fields = fields,
	};
	struct ptl_schema with_fields = schema;
	char *list = strdup(text_of(maker, "fields", "")), *save = NULL;

	if (!list)
		refuse(maker, "no memory");
	for (char *word = strtok_r(list, ",", &save); word && with_fields.field_count < FIELDS_MAX;
	     word = strtok_r(NULL, ",", &save))
		parse_field(maker, word, &fields[with_fields.field_count++]);
	must(maker, ptl_writer_schema(maker->writer, &with_fields));
	free(list);
}

static void make_map(struct maker *maker)
{
	struct ptl_map_entry entries[FIELDS_MAX];
	struct ptl_map map = {
		.provider = guid_of(maker),
		.kind = (uint32_t)number_of(maker, "kind", 0),
		.name = text_of(maker, "name", ""),
		.entries = entries,
	};
	char *list = strdup(text_of(maker, "entries", "")), *save = NULL;

	if (!list)
		refuse(maker, "no memory");
	for (char *word = strtok_r(list, ",", &save); word && map.count < FIELDS_MAX;
	     word = strtok_r(NULL, ",", &save)) {
		entries[map.count].value = strtoull(word, &word, 0);
		entries[map.count++].name = *word ? word + 1 : word;
	}
	must(maker, ptl_writer_map(maker->writer, &map));
	free(list);
}

/* Hexadecimal digits, 'text', and w'text' as UTF-16. */
static void add_payload(const struct maker *maker, const char *text, struct ptl_bytes *bytes)
{
	while (*text) {
		const bool wide = *text == 'w';
		const char *end;
		char *words;

		if (!wide && *text != '\'') {
			common_write_le(bytes, hex_digit(maker, text[0]) << 4 | hex_digit(maker, text[1]), 1);
			text += 2;
			continue;
		}
		text += wide + 1;
		end = strchr(text, '\'');
		words = end ? strndup(text, (size_t)(end - text)) : NULL;
		if (!words)
			refuse(maker, "a text in the payload does not end");
		if (wide) {
			common_write_utf16(bytes, words);
			bytes->size -= 2;
		} else {
			common_write_bytes(bytes, words, strlen(words));
		}
		free(words);
		text = end + 1;
	}
}

static void set_activity(const struct maker *maker, const char *key, uint32_t flag, struct ptl_guid *guid,
			 struct ptl_event *event)
{
	const char *text = text_of(maker, key, NULL);

	if (text && !common_guid_parse(text, guid))
		refuse(maker, "%s= needs a GUID", key);
	if (text)
		event->flags |= flag;
}

#define EXTENDED_MAX 16

/* "7:0102,8:" */
static size_t add_extended(const struct maker *maker, struct ptl_bytes *bytes, struct ptl_extended *items)
{
	char *list = strdup(text_of(maker, "extended", "")), *save = NULL;
	size_t count = 0, at = 0;

	if (!list)
		refuse(maker, "no memory");
	for (char *word = strtok_r(list, ",", &save); word && count < EXTENDED_MAX; word = strtok_r(NULL, ",", &save)) {
		const size_t before = bytes->size;

		items[count].type = (uint16_t)strtoul(word, &word, 10);
		add_hex(maker, *word ? word + 1 : word, bytes);
		items[count++].size = (uint16_t)(bytes->size - before);
	}
	for (size_t i = 0; i < count; i++) {
		items[i].data = bytes->data + at;
		at += items[i].size;
	}
	free(list);
	return count;
}

static void make_event(struct maker *maker)
{
	struct ptl_extended extended[EXTENDED_MAX];
	struct ptl_bytes payload = {0}, items = {0};
	struct ptl_event event = {
		.descriptor =
			{
				.provider = guid_of(maker),
				.id = (uint16_t)number_of(maker, "id", 0),
				.version = (uint8_t)number_of(maker, "version", 0),
				.level = (uint8_t)number_of(maker, "level", 4),
				.channel = (uint8_t)number_of(maker, "channel", 0),
				.opcode = (uint8_t)number_of(maker, "opcode", 0),
				.task = (uint16_t)number_of(maker, "task", 0),
				.keyword = number_of(maker, "keyword", 0),
			},
		.flags = number_of(maker, "injected", 0) ? PTL_EVENT_INJECTED : 0,
		.extended = extended,
	};

	set_activity(maker, "activity", PTL_EVENT_HAS_ACTIVITY, &event.activity, &event);
	set_activity(maker, "related", PTL_EVENT_HAS_RELATED, &event.related, &event);
	event.extended_count = add_extended(maker, &items, extended);
	add_payload(maker, text_of(maker, "payload", ""), &payload);
	event.payload = payload.data;
	event.payload_size = payload.size;
	put_event(maker, &event);
	common_bytes_free(&payload);
	common_bytes_free(&items);
}

/* ---- streams ------------------------------------------------------------------------------------- */

static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

static void put_psbs(struct maker *maker, const uint8_t *data, size_t size, uint64_t from, uint64_t to)
{
	size_t count = 0, seen = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t at = 0; at + sizeof(psb) <= size; at++) {
			if (memcmp(data + at, psb, sizeof(psb)) != 0)
				continue;
			if (pass == 0)
				count++;
			else
				must(maker, ptl_writer_psb(maker->writer, maker->pt.id, at,
							   from + (to - from) * seen++ / count));
			at += sizeof(psb) - 1;
		}
	}
}

static void make_pt(struct maker *maker)
{
	const uint64_t from = number_of(maker, "time", 0), to = number_of(maker, "end", from);
	uint8_t *data;
	size_t size;

	maker->pt = (struct ptl_stream){
		.kind = PTL_KIND_PT,
		.cpu = (uint32_t)number_of(maker, "cpu", PTL_NO_CPU),
		.pid = (uint32_t)number_of(maker, "pid", PTL_NO_ID),
		.tid = (uint32_t)number_of(maker, "tid", PTL_NO_ID),
	};
	must(maker, ptl_writer_stream(maker->writer, &maker->pt));
	must(maker, common_read_file(text_of(maker, "path", ""), (size_t)1 << 30, &data, &size));
	put_psbs(maker, data, size, from, to);
	must(maker, ptl_writer_bytes(maker->writer, maker->pt.id, data, size, from));
	free(data);
}

static void make_hole(struct maker *maker)
{
	uint64_t size;

	if (maker->word_count < 2)
		refuse(maker, "the size of the hole is missing");
	must(maker, common_parse_u64(maker->words[1], &size));
	must(maker, ptl_writer_hole(maker->writer, maker->pt.id, size, 0));
}

static void make_abandon(struct maker *maker)
{
	must(maker, ptl_writer_flush(maker->writer));
	maker->abandoned = true;
}

/* ---- statements ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*make)(struct maker *maker);
} statements[] = {
	{"machine", make_machine}, {"provenance", make_provenance},
	{"loss", make_loss},       {"bytes", make_bytes},
	{"symbols", make_symbols}, {"file", make_file},
	{"process", make_process}, {"thread", make_thread},
	{"image", make_image},     {"code", make_code},
	{"schema", make_schema},   {"event", make_event},
	{"pt", make_pt},           {"hole", make_hole},
	{"abandon", make_abandon}, {"map", make_map},
};

static void make_statement(struct maker *maker)
{
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		if (strcmp(statements[i].name, maker->words[0]) == 0) {
			statements[i].make(maker);
			return;
		}
	}
	refuse(maker, "'%s' is no statement", maker->words[0]);
}

static void start(struct maker *maker, const char *path)
{
	struct ptl_stream events = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	const struct ptl_schema *const *schemas;
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	size_t count;

	if (fd < 0)
		refuse(maker, "cannot write %s", path);
	must(maker, ptl_writer_open(fd, NULL, &maker->writer));
	schemas = ptl_kernel_schemas(&count);
	for (size_t i = 0; i < count; i++)
		must(maker, ptl_writer_schema(maker->writer, schemas[i]));
	must(maker, ptl_writer_stream(maker->writer, &events));
	maker->events = events.id;
}

int main(int argc, char **argv)
{
	static struct maker maker;
	char line[1 << 18]; /* room for names of 60,000 bytes */
	FILE *file;

	if (argc != 3 || !(file = fopen(argv[1], "r"))) {
		fprintf(stderr, "usage: make_sample TEXT OUT.ptl\n");
		return 2;
	}
	maker.path = argv[1];
	start(&maker, argv[2]);
	while (fgets(line, sizeof(line), file) && !maker.abandoned) {
		maker.line++;
		split(&maker, line);
		if (maker.word_count)
			make_statement(&maker);
	}
	fclose(file);
	for (size_t i = 0; i < maker.name_count; i++)
		common_bytes_free(&maker.names[i].data);
	if (maker.abandoned)
		ptl_writer_abandon(maker.writer);
	else
		must(&maker, ptl_writer_close(maker.writer));
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Assembles Intel PT packets from text, in the syntax of ptl-dump packets. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/bytes.h"
#include "dump/print/packet_text.h"
#include "format/pt/fields.h"
#include "format/pt/last_ip.h"
#include "format/pt/packet.h"

/*
 *     pt_assemble [-o FILE] TEXT...
 *
 * Reads the texts in order and writes the bytes to FILE or stdout. A line is empty or has one of these forms:
 *
 *     # comment                    to the end of any line
 *     main = 0x1000                gives a name to a value
 *     psb                          a packet in the syntax of dump/print/packet_text.h
 *     tip main+4                   values are numbers and names, joined with + and -
 *     tnt tt.n                     dots divide branches for the eye; more than six make a TNT-64
 *     ptw 0x2a                     a payload may stand alone
 *     bip id=3 bytes=4 payload=1   a missing field is 0, except "bytes", which is 8
 *     times 100 tnt ttn            the packet, 100 times
 *     bytes 02 82 ff               these bytes, for damage
 *
 * Names of packets are case-insensitive.
 */
#define TOKENS_MAX 64
#define NAMES_MAX 4096

struct name {
	char *text;
	uint64_t value;
};

struct assembler {
	const char *path;
	unsigned line;
	struct name names[NAMES_MAX];
	size_t name_count;
	uint64_t last_ip;
	struct ptl_bytes out;
};

static void __attribute__((noreturn, format(printf, 2, 3)))
refuse(const struct assembler *assembler, const char *format, ...)
{
	va_list list;

	fprintf(stderr, "%s:%u: ", assembler->path, assembler->line);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(2);
}

static const struct name *find_name(const struct assembler *assembler, const char *text, size_t size)
{
	for (size_t i = assembler->name_count; i-- > 0;)
		if (strlen(assembler->names[i].text) == size && !memcmp(assembler->names[i].text, text, size))
			return &assembler->names[i];
	return NULL;
}

static uint64_t term(const struct assembler *assembler, const char *text, size_t size)
{
	char number[32], *end;
	const struct name *name;
	uint64_t value;

	if (!size)
		refuse(assembler, "expected a number or a name");
	if (text[0] < '0' || text[0] > '9') {
		name = find_name(assembler, text, size);
		if (!name)
			refuse(assembler, "no value is named \"%.*s\"", (int)size, text);
		return name->value;
	}
	if (size >= sizeof(number))
		refuse(assembler, "\"%.*s\" is no number", (int)size, text);
	memcpy(number, text, size);
	number[size] = 0;
	errno = 0;
	value = strtoull(number, &end, 0);
	if (*end || errno)
		refuse(assembler, "\"%s\" is no number", number);
	return value;
}

/* Evaluates numbers and names, joined by + and -. */
static uint64_t expression(const struct assembler *assembler, const char *text)
{
	uint64_t value = 0;
	bool minus = false;

	for (;;) {
		size_t size = strcspn(text, "+-");
		uint64_t operand = term(assembler, text, size);

		value = minus ? value - operand : value + operand;
		if (!text[size])
			return value;
		minus = text[size] == '-';
		text += size + 1;
	}
}

static void define(struct assembler *assembler, const char *text, const char *value)
{
	if (assembler->name_count == NAMES_MAX)
		refuse(assembler, "more than %d names", NAMES_MAX);
	if (text[0] >= '0' && text[0] <= '9')
		refuse(assembler, "a name does not start with a digit");
	if (find_name(assembler, text, strlen(text)))
		refuse(assembler, "\"%s\" has a value", text);
	assembler->names[assembler->name_count].value = expression(assembler, value);
	assembler->names[assembler->name_count].text = strdup(text);
	if (!assembler->names[assembler->name_count++].text)
		abort();
}

static uint8_t find_kind(const struct assembler *assembler, const char *text)
{
	for (unsigned kind = 1; kind < PTL_PT_KINDS; kind++)
		if (!strcasecmp(text, ptl_pt_kind_name(kind)))
			return (uint8_t)kind;
	refuse(assembler, "there is no packet \"%s\"", text);
}

static void put_branches(const struct assembler *assembler, struct ptl_pt_packet *packet, char **tokens)
{
	unsigned count = 0;

	for (; *tokens; tokens++) {
		for (const char *c = *tokens; *c; c++) {
			if (*c == '.')
				continue;
			if (!strchr("tTnN", *c))
				refuse(assembler, "a branch is t or n, not \"%c\"", *c);
			packet->tnt.bits = packet->tnt.bits << 1 | (*c == 't' || *c == 'T');
			if (++count > FORMAT_PT_TNT_64_MAX)
				refuse(assembler, "more than %d branches", FORMAT_PT_TNT_64_MAX);
		}
	}
	packet->tnt.count = (uint8_t)count;
	if (count > FORMAT_PT_TNT_8_MAX)
		packet->kind = PTL_PT_TNT_64;
}

static unsigned find_form(const struct assembler *assembler, const char *token)
{
	if (!strncmp(token, "form=", 5))
		for (unsigned form = 0; form < 8; form++)
			if (dump_packet_form_name(form) && !strcmp(token + 5, dump_packet_form_name(form)))
				return form;
	refuse(assembler, "\"%s\" is no form= of an address", token);
}

/* Sets the address, in the requested compression or the compression of a CPU. */
static void put_ip(struct assembler *assembler, struct ptl_pt_packet *packet, char **tokens)
{
	uint64_t ip, last = assembler->last_ip, back;

	if (!tokens[0] || (tokens[1] && tokens[2]))
		refuse(assembler, "expected an address or -, and perhaps form=");
	if (!strcmp(tokens[0], "-"))
		return;
	ip = expression(assembler, tokens[0]);
	packet->ip.form = (uint8_t)(tokens[1] ? find_form(assembler, tokens[1]) : format_pt_ip_compress(last, ip));
	packet->ip.payload = ip & ~0ull >> (64 - 8 * format_pt_ip_size(packet->ip.form));
	if (ptl_pt_ip_resolve(packet, &assembler->last_ip, &back) && back != ip)
		refuse(assembler, "form=%s makes 0x%llx of the last IP 0x%llx, not 0x%llx",
		       dump_packet_form_name(packet->ip.form), (unsigned long long)back, (unsigned long long)last,
		       (unsigned long long)ip);
}

static void put_mode_exec(const struct assembler *assembler, struct ptl_pt_packet *packet, char **tokens)
{
	static const char *const names[] = {"16", "32", "64", "cs_l+cs_d"};

	if (tokens[0])
		for (unsigned i = 0; i < 4; i++)
			if (!strcmp(tokens[0], names[i])) {
				packet->mode_exec.cs_d = i & 1;
				packet->mode_exec.cs_l = i >> 1;
				packet->mode_exec.interrupt_flag = tokens[1] && !strcmp(tokens[1], "if");
				if (!tokens[1] || packet->mode_exec.interrupt_flag)
					return;
			}
	refuse(assembler, "expected 64, 32, 16 or cs_l+cs_d, and perhaps if");
}

static void set_field(const struct assembler *assembler, struct ptl_pt_packet *packet,
		      const struct format_pt_field *field, uint64_t value)
{
	format_pt_field_set(packet, field, value);
	if (format_pt_field_get(packet, field) != value)
		refuse(assembler, "%s 0x%llx is too large", field->name, (unsigned long long)value);
}

/* Sets a field by "name=value", by "flag", or by a value for the payload or for the only field. */
static void put_field(const struct assembler *assembler, struct ptl_pt_packet *packet, const char *token)
{
	size_t size = strcspn(token, "=");
	const struct format_pt_field *fields = format_pt_fields(packet->kind), *alone = NULL;

	for (const struct format_pt_field *field = fields; field->name; field++) {
		if (strlen(field->name) == size && !memcmp(field->name, token, size)) {
			if ((field->style == FORMAT_PT_FIELD_FLAG) != !token[size])
				refuse(assembler, "\"%s\" is %s", field->name,
				       token[size] ? "a flag: it takes no value" : "a value: expected =");
			set_field(assembler, packet, field, token[size] ? expression(assembler, token + size + 1) : 1);
			return;
		}
		if (field->style != FORMAT_PT_FIELD_FLAG && (!fields[1].name || !strcmp(field->name, "payload")))
			alone = field;
	}
	if (token[size] || !alone)
		refuse(assembler, "%s has no \"%.*s\"", ptl_pt_kind_name(packet->kind), (int)size, token);
	set_field(assembler, packet, alone, expression(assembler, token));
}

static void put_fields(const struct assembler *assembler, struct ptl_pt_packet *packet, char **tokens)
{
	for (const struct format_pt_field *field = format_pt_fields(packet->kind); field->name; field++)
		if (field->style == FORMAT_PT_FIELD_BYTES)
			format_pt_field_set(packet, field, 8);
	while (*tokens)
		put_field(assembler, packet, *tokens++);
}

static void packet(struct assembler *assembler, char **tokens)
{
	struct ptl_pt_packet packet = {.kind = find_kind(assembler, tokens[0])};
	uint8_t data[PTL_PT_PACKET_MAX];
	int size;

	switch (packet.kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		put_branches(assembler, &packet, tokens + 1);
		break;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		put_ip(assembler, &packet, tokens + 1);
		break;
	case PTL_PT_MODE_EXEC:
		put_mode_exec(assembler, &packet, tokens + 1);
		break;
	case PTL_PT_PSB:
	case PTL_PT_OVF:
		assembler->last_ip = 0;
		__attribute__((fallthrough));
	default:
		put_fields(assembler, &packet, tokens + 1);
		break;
	}
	size = ptl_pt_encode(&packet, data, sizeof(data));
	if (size < 0)
		refuse(assembler, "%s: %s is out of range", tokens[0], format_pt_packet_invalid(&packet));
	common_write_bytes(&assembler->out, data, (size_t)size);
}

static void raw_bytes(struct assembler *assembler, char **tokens)
{
	for (; *tokens; tokens++) {
		char *end;
		unsigned long byte = strtoul(*tokens, &end, 16);

		if (*end || byte > 255)
			refuse(assembler, "\"%s\" is no byte in hexadecimal", *tokens);
		common_write_le(&assembler->out, byte, 1);
	}
}

static void assemble_line(struct assembler *assembler, char *line)
{
	char *tokens[TOKENS_MAX + 1], *save = NULL;
	size_t count = 0;
	uint64_t times = 1;

	line[strcspn(line, "#\r\n")] = 0;
	for (char *token = strtok_r(line, " \t", &save); token; token = strtok_r(NULL, " \t", &save)) {
		if (count == TOKENS_MAX)
			refuse(assembler, "more than %d words", TOKENS_MAX);
		tokens[count++] = token;
	}
	tokens[count] = NULL;
	if (!count)
		return;
	if (count == 3 && !strcmp(tokens[1], "=")) {
		define(assembler, tokens[0], tokens[2]);
	} else if (!strcmp(tokens[0], "bytes")) {
		raw_bytes(assembler, tokens + 1);
	} else if (!strcmp(tokens[0], "times")) {
		if (count < 3)
			refuse(assembler, "expected times NUMBER PACKET");
		for (times = expression(assembler, tokens[1]); times; times--)
			packet(assembler, tokens + 2);
	} else {
		packet(assembler, tokens);
	}
}

static void assemble(struct assembler *assembler, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char *line = NULL;
	size_t room = 0;

	assembler->path = path;
	assembler->line = 0;
	if (!file)
		refuse(assembler, "%s", strerror(errno));
	while (getline(&line, &room, file) >= 0) {
		assembler->line++;
		assemble_line(assembler, line);
	}
	free(line);
	if (file != stdin)
		fclose(file);
}

int main(int argc, char **argv)
{
	static struct assembler assembler;
	FILE *out = stdout;
	int first = 1;

	if (argc > 2 && !strcmp(argv[1], "-o")) {
		out = fopen(argv[2], "wb");
		if (!out) {
			perror(argv[2]);
			return 4;
		}
		first = 3;
	}
	if (first >= argc) {
		fprintf(stderr, "usage: pt_assemble [-o FILE] TEXT...\n");
		return 2;
	}
	for (int i = first; i < argc; i++)
		assemble(&assembler, argv[i]);
	if (assembler.out.failed || fwrite(assembler.out.data, 1, assembler.out.size, out) != assembler.out.size ||
	    fclose(out)) {
		fprintf(stderr, "pt_assemble: cannot write\n");
		return 4;
	}
	common_bytes_free(&assembler.out);
	for (size_t i = 0; i < assembler.name_count; i++)
		free(assembler.names[i].text);
	return 0;
}

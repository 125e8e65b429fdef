/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of gdb's remote protocol, and replies of the server to requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dump/gdb/server.h"

static struct dump_gdb_parser parser;

static enum dump_gdb_input parse(const char *text, size_t size)
{
	size_t used;

	return dump_gdb_parse(&parser, (const uint8_t *)text, size, &used);
}

/* Returns the text of the last packet. */
static const char *packet_text(void)
{
	return (const char *)parser.data;
}

static void packets(void **state)
{
	(void)state;
	memset(&parser, 0, sizeof(parser));
	assert_int_equal(parse("+$g#67", 6), DUMP_GDB_RECEIVED);
	assert_int_equal(parse("$g#67", 5), DUMP_GDB_PACKET);
	assert_string_equal(packet_text(), "g");
	assert_int_equal(parse("$g#68", 5), DUMP_GDB_DAMAGED);
	assert_int_equal(parse("$g#6x", 5), DUMP_GDB_DAMAGED);
	assert_int_equal(parse("\003", 1), DUMP_GDB_INTERRUPT);
	assert_int_equal(parse("-", 1), DUMP_GDB_RESEND);
	/* In parts, and after a beginning whose end is lost. */
	assert_int_equal(parse("$qSup", 5), DUMP_GDB_NOTHING);
	assert_int_equal(parse("$?#", 3), DUMP_GDB_NOTHING);
	assert_int_equal(parse("3", 1), DUMP_GDB_NOTHING);
	assert_int_equal(parse("f", 1), DUMP_GDB_PACKET);
	assert_string_equal(packet_text(), "?");
	/* An escaped '#'. */
	assert_int_equal(parse("$}\003#80", 6), DUMP_GDB_PACKET);
	assert_string_equal(packet_text(), "#");
}

static void long_packets(void **state)
{
	(void)state;
	memset(&parser, 0, sizeof(parser));
	assert_int_equal(parse("$", 1), DUMP_GDB_NOTHING);
	for (size_t i = 0; i < DUMP_GDB_PACKET_MAX + 256; i++)
		assert_int_equal(parse("\200", 1), DUMP_GDB_NOTHING);
	assert_int_equal(parse("#00", 3), DUMP_GDB_DAMAGED);
	assert_int_equal(parse("$g#67", 5), DUMP_GDB_PACKET);
}

static void written(void **state)
{
	struct ptl_bytes out = {0};

	(void)state;
	dump_gdb_packet_write((const uint8_t *)"a#b", 3, &out);
	assert_int_equal(out.size, 8);
	assert_memory_equal(out.data, "$a}\003b#43", 8);
	common_bytes_free(&out);
}

static void numbers(void **state)
{
	const char *text = "ffffffffffffffff,10000000000000000", *none = "x";
	struct ptl_bytes bytes = {0};
	uint64_t value;

	(void)state;
	assert_true(dump_gdb_read_hex(&text, &value) && value == UINT64_MAX);
	assert_true(dump_gdb_read_word(&text, ","));
	assert_false(dump_gdb_read_hex(&text, &value));
	assert_false(dump_gdb_read_hex(&none, &value));
	assert_true(dump_gdb_read_hex_bytes("6a6B", &bytes));
	assert_int_equal(bytes.size, 2);
	assert_memory_equal(bytes.data, "jk", 2);
	assert_false(dump_gdb_read_hex_bytes("6", &bytes));
	assert_false(dump_gdb_read_hex_bytes("6g", &bytes));
	common_bytes_free(&bytes);
}

/* ---- requests ------------------------------------------------------------------------------------ */

static size_t read_memory(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
	(void)context;
	if (address != 0x1000 || !size)
		return 0;
	bytes[0] = 0xc3;
	return 1;
}

static struct dump_gdb_block blocks[] = {{0x1000, 0x1004, 1, 2, 0}, {0, 0, 2, 0, 1}, {0x2000, 0x2000, 3, 1, 0}};
static struct dump_gdb_thread threads[] = {
	{.tid = 0x11,
	 .blocks = blocks,
	 .count = 3,
	 .signal = 11,
	 .next = 0x2001,
	 .fatal = {.signal = 11, .code = 1, .has_address = true, .address = 0x4142434445464748}},
	{.tid = 0x12}};
static struct dump_gdb_model model = {
	.pid = 0x10, .threads = threads, .thread_count = 2, .generation = 1, .read_memory = read_memory};
static struct dump_gdb_server server = {.model = &model};

static size_t talk_size; /* of talk's last result */

/* Sends bytes to the server. Returns all that the server sends, in a static buffer. */
static const char *talk(const char *bytes, size_t size)
{
	static char text[4096];
	struct ptl_bytes out = {0};

	assert_int_equal(dump_gdb_server_take(&server, (const uint8_t *)bytes, size, &out), 0);
	assert_true(out.size < sizeof(text));
	memcpy(text, out.data, out.size);
	text[out.size] = 0;
	talk_size = out.size;
	common_bytes_free(&out);
	return text;
}

/* The reply to a request, in a static buffer, after gdb has got the reply before. */
static const char *ask(const char *request)
{
	static char text[4096];
	struct ptl_bytes packet = {0};
	const char *answer;
	size_t used;

	common_write_bytes(&packet, "+", 1);
	dump_gdb_packet_write((const uint8_t *)request, strlen(request), &packet);
	answer = talk((const char *)packet.data, packet.size);
	assert_int_equal(answer[0], '+');
	memset(&parser, 0, sizeof(parser));
	assert_int_equal(dump_gdb_parse(&parser, (const uint8_t *)answer + 1, talk_size - 1, &used), DUMP_GDB_PACKET);
	assert_int_equal(used, talk_size - 1);
	memcpy(text, parser.data, parser.size + 1 < sizeof(text) ? parser.size + 1 : sizeof(text));
	text[sizeof(text) - 1] = 0;
	common_bytes_free(&packet);
	return text;
}

/* gdb repeats a request that was not answered for 2 seconds, and waits for a single reply. */
static void repetitions(void **state)
{
	(void)state;
	assert_string_equal(talk("$?#3f$?#3f", 10), "+$T0bthread:11;#35+");
	assert_string_equal(talk("+$?#3f", 6), "+$T0bthread:11;#35");
	assert_string_equal(talk("-", 1), "$T0bthread:11;#35");
	/* Without acknowledgements, nothing tells a repetition from a second request. */
	assert_string_equal(ask("QStartNoAckMode"), "OK");
	assert_string_equal(talk("+$?#3f$?#3f", 11), "$T0bthread:11;#35$T0bthread:11;#35");
	server.no_acks = false;
	dump_gdb_server_free(&server);
}

static void requests(void **state)
{
	(void)state;
	assert_string_equal(ask("?"), "T0bthread:11;");
	assert_non_null(strstr(ask("qSupported:multiprocess+"), "qXfer:btrace:read+"));
	assert_string_equal(ask("?"), "T0bthread:p10.11;");
	assert_string_equal(ask("qfThreadInfo"), "mp10.11,p10.12");
	assert_string_equal(ask("Tp10.12"), "OK");
	assert_string_equal(ask("Tp10.13"), "E01");
	assert_string_equal(ask("Tp99.12"), "E01");
	assert_string_equal(ask("m1000,8"), "c3");
	assert_string_equal(ask("m2000,8"), "E01");
	assert_string_equal(ask("p10"), "0120000000000000");
	assert_string_equal(ask("p0"), "xxxxxxxxxxxxxxxx");
	assert_string_equal(ask("M1000,1:00"), "E01");
	assert_string_equal(ask("qXfer:btrace:read:all:0,fff"),
			    "l<btrace version=\"1.0\"><block begin=\"0x2001\" end=\"0x2001\"/>"
			    "<block begin=\"0x2001\" end=\"0x2001\"/><block begin=\"0x2000\" end=\"0x2000\"/>"
			    "<block begin=\"0x1\" end=\"0x0\"/><block begin=\"0x1000\" end=\"0x1004\"/></btrace>");
	/* Packets cannot tell a gap. */
	assert_string_equal(ask("Qbtrace:pt"), "E01");
	assert_non_null(strstr(ask("qXfer:btrace-conf:read::0,fff"), "<bts "));
	assert_string_equal(ask("Qbtrace:bts"), "OK");
	assert_non_null(strstr(ask("qXfer:btrace:read:new:0,fff"), "<block "));
	assert_string_equal(ask("qXfer:btrace:read:new:0,fff"), "l<btrace version=\"1.0\"></btrace>");
	assert_string_equal(ask("qXfer:btrace:read:all:5,3"), "mce ");
	assert_string_equal(ask("qXfer:btrace:read:all:fffff,3"), "E01");
	assert_string_equal(ask("vFile:open:2f6574632f706173737764,0,0"), "F-1,2");
	assert_string_equal(ask("vFile:pread:0,1,0"), "F-1,9");
	assert_string_equal(ask("vFile:pread:ffffffffffffffff,1,0"), "F-1,9");
	/* si_signo, si_code and si_addr of siginfo_t */
	assert_int_equal(ask("qXfer:siginfo:read::0,80")[1], 11);
	assert_int_equal(ask("qXfer:siginfo:read::8,80")[1], 1);
	assert_string_equal(ask("qXfer:siginfo:read::10,8"), "mHGFEDCBA");
	assert_string_equal(ask("qXfer:siginfo:read::81,8"), "E01");
	assert_string_equal(ask("Hgp10.12"), "OK");
	assert_string_equal(ask("qXfer:siginfo:read::0,80"), "E01");
	assert_string_equal(ask("vMustReplyEmpty"), "");
	dump_gdb_server_free(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets), cmocka_unit_test(long_packets), cmocka_unit_test(written),
		cmocka_unit_test(numbers), cmocka_unit_test(repetitions),  cmocka_unit_test(requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

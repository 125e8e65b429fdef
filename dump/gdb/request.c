/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of gdb's remote protocol: the table of requests, threads, registers, memory, documents. */
#include "dump/gdb/request.h"

#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "dump/gdb/document.h"
#include "dump/gdb/file_request.h"
#include "dump/gdb/packets.h"
#include "dump/gdb/signal_info.h"

#define ERROR "E01"
#define MEMORY_MAX 8192u /* bytes of memory in one reply */

/* Returns the index of the thread of requests; SIZE_MAX: the thread is missing after a change of the model. */
static size_t request_index(const struct dump_gdb_server *server)
{
	const struct dump_gdb_model *model = server->model;

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == server->tid)
			return i;
	return server->tid ? SIZE_MAX : model->current;
}

static struct dump_gdb_thread *request_thread(const struct dump_gdb_server *server)
{
	const size_t index = request_index(server);

	return index < server->model->thread_count ? &server->model->threads[index] : NULL;
}

/* ---- threads ------------------------------------------------------------------------------------- */

/* Reads "p12.34", "34", "0" or "-1". *tid: 0 for any thread. */
static bool read_thread_id(const struct dump_gdb_server *server, const char **text, uint64_t *tid)
{
	uint64_t pid;

	*tid = 0;
	if (dump_gdb_read_word(text, "p")) {
		if (!dump_gdb_read_word(text, "-1") &&
		    (!dump_gdb_read_hex(text, &pid) || (pid && pid != server->model->pid)))
			return false;
		if (!dump_gdb_read_word(text, "."))
			return true;
	}
	return dump_gdb_read_word(text, "-1") || dump_gdb_read_hex(text, tid);
}

/* Finds the thread of an id. Any thread is the current thread. */
static bool find_thread(const struct dump_gdb_server *server, const char **text, size_t *found)
{
	uint64_t tid;

	if (!read_thread_id(server, text, &tid))
		return false;
	*found = request_index(server);
	for (size_t i = 0; tid && i < server->model->thread_count; i++)
		if (server->model->threads[i].tid == tid) {
			*found = i;
			return true;
		}
	return !tid;
}

static void add_id(const struct dump_gdb_server *server, uint32_t tid, struct ptl_bytes *reply)
{
	dump_gdb_add_thread_id(server->model, server->processes, tid, reply);
}

static void answer_select(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const bool is_for_requests = *text == 'g';
	uint64_t tid;

	if (*text)
		text++;
	if (!read_thread_id(server, &text, &tid)) {
		common_text_add(reply, ERROR);
		return;
	}
	/* gdb may know a thread that is not in this window: all registers are unavailable. */
	if (is_for_requests && tid)
		server->tid = (uint32_t)tid;
	common_text_add(reply, "OK");
}

static void answer_alive(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	size_t found;

	common_text_add(reply, find_thread(server, &text, &found) ? "OK" : ERROR);
}

static void answer_current(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);

	(void)text;
	if (!thread)
		return;
	common_text_add(reply, "QC");
	add_id(server, thread->tid, reply);
}

static void answer_thread_list(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	for (size_t i = 0; i < server->model->thread_count; i++) {
		common_text_add(reply, i ? "," : "m");
		add_id(server, server->model->threads[i].tid, reply);
	}
}

static void answer_list_end(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)server;
	(void)text;
	common_text_add(reply, "l");
}

/* ---- stops --------------------------------------------------------------------------------------- */

/* gdb's own number of a signal. Numbers up to SIGTERM are equal but for a few. */
static unsigned gdb_signal(uint8_t signal)
{
	static const struct {
		uint8_t linux_number, gdb_number;
	} others[] = {{SIGBUS, 10}, {SIGUSR1, 30}, {SIGUSR2, 31}, {SIGXCPU, 24}, {SIGXFSZ, 25}, {SIGSYS, 12}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].linux_number == signal)
			return others[i].gdb_number;
	return signal && signal <= SIGTERM ? signal : SIGTRAP;
}

static void answer_stop(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);

	(void)text;
	if (!thread) {
		common_text_add(reply, "W00");
		return;
	}
	common_text_format(reply, "T%02xthread:", gdb_signal(thread->signal));
	add_id(server, thread->tid, reply);
	common_text_add(reply, ";");
}

/* Execution forwards from the end of the trace: the program stays where the trace ends. */
static void answer_resume(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);

	(void)text;
	common_text_format(reply, "T%02xthread:", SIGTRAP);
	add_id(server, thread ? thread->tid : 0, reply);
	common_text_add(reply, ";replaylog:end;");
}

static void answer_actions(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)server;
	(void)text;
	common_text_add(reply, "vCont;c;C;s;S");
}

static void answer_end(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	server->ended = true;
	common_text_add(reply, "OK");
}

/* ---- registers and memory ------------------------------------------------------------------------ */

/* Bytes of registers in gdb's order: 16 general registers, rip, eflags, 6 segments, x87, SSE, mxcsr. */
#define RIP_NUMBER 16u
#define REGISTER_BYTES (17u * 8 + 7 * 4 + 8 * 10 + 8 * 4 + 16 * 16 + 4)

static void add_unknown(struct ptl_bytes *reply, size_t bytes)
{
	uint8_t *digits = common_bytes_grow(reply, 2 * bytes);

	if (digits)
		memset(digits, 'x', 2 * bytes);
}

static void add_rip(const struct dump_gdb_server *server, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);
	uint8_t bytes[8];

	if (!thread || !thread->count) {
		add_unknown(reply, sizeof(bytes));
		return;
	}
	common_store_le(bytes, dump_gdb_thread_pc(thread), sizeof(bytes));
	common_text_hex_bytes(reply, bytes, sizeof(bytes));
}

static void answer_registers(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	add_unknown(reply, (size_t)RIP_NUMBER * 8);
	add_rip(server, reply);
	add_unknown(reply, REGISTER_BYTES - 17 * 8);
}

static size_t register_bytes(uint64_t number)
{
	if (number >= 24 && number < 32)
		return 10;
	if (number >= 40 && number < 56)
		return 16;
	return number <= RIP_NUMBER || number > 56 ? 8 : 4;
}

static void answer_register(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint64_t number;

	if (!dump_gdb_read_hex(&text, &number))
		common_text_add(reply, ERROR);
	else if (number == RIP_NUMBER)
		add_rip(server, reply);
	else
		add_unknown(reply, register_bytes(number));
}

static void answer_memory(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint8_t bytes[MEMORY_MAX];
	uint64_t address, size;
	size_t count = 0;

	if (dump_gdb_read_hex(&text, &address) && dump_gdb_read_word(&text, ",") && dump_gdb_read_hex(&text, &size))
		count = server->model->read_memory(server->model->context, address, bytes,
						   size < MEMORY_MAX ? (size_t)size : MEMORY_MAX);
	if (count)
		common_text_hex_bytes(reply, bytes, count);
	else
		common_text_add(reply, ERROR);
}

static void answer_refusal(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)server;
	(void)text;
	common_text_add(reply, ERROR);
}

static void answer_ok(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)server;
	(void)text;
	common_text_add(reply, "OK");
}

/* ---- documents ----------------------------------------------------------------------------------- */

enum document { DOCUMENT_TARGET = 1, DOCUMENT_THREADS, DOCUMENT_LIBRARIES, DOCUMENT_SETTINGS, DOCUMENT_BLOCKS };

/* The generation that gdb has of the thread's blocks; NULL without memory. */
static uint64_t *shown_generation(struct dump_gdb_server *server)
{
	if (server->shown_count != server->model->thread_count) {
		free(server->shown);
		server->shown = calloc(server->model->thread_count + 1, sizeof(*server->shown));
		server->shown_count = server->shown ? server->model->thread_count : 0;
	}
	return request_index(server) < server->shown_count ? &server->shown[request_index(server)] : NULL;
}

/* A recording that begins has nothing yet of the thread. */
static void forget_shown(struct dump_gdb_server *server)
{
	uint64_t *shown = shown_generation(server);

	if (shown)
		*shown = 0;
}

static void make_document(struct dump_gdb_server *server, enum document document, bool has_blocks)
{
	switch (document) {
	case DOCUMENT_TARGET:
		dump_gdb_target_document(&server->xml);
		break;
	case DOCUMENT_THREADS:
		dump_gdb_threads_document(server->model, server->processes, &server->xml);
		break;
	case DOCUMENT_LIBRARIES:
		dump_gdb_libraries_document(server->model, &server->xml);
		break;
	case DOCUMENT_SETTINGS:
		dump_gdb_trace_settings_document(server->packets, &server->xml);
		break;
	case DOCUMENT_BLOCKS:
		if (server->packets)
			dump_gdb_packets_document(server->model, has_blocks ? request_thread(server) : NULL,
						  &server->xml);
		else
			dump_gdb_blocks_document(has_blocks ? request_thread(server) : NULL, &server->xml);
		break;
	}
}

/* Appends a part of the bytes: "m" before a part, "l" before the last part. */
static void add_part(const uint8_t *data, size_t size, const char *text, struct ptl_bytes *reply)
{
	uint64_t offset, length;

	if (!dump_gdb_read_hex(&text, &offset) || !dump_gdb_read_word(&text, ",") ||
	    !dump_gdb_read_hex(&text, &length) || offset > size) {
		common_text_add(reply, ERROR);
		return;
	}
	length = length < DUMP_GDB_PACKET_MAX ? length : DUMP_GDB_PACKET_MAX;
	common_text_add(reply, length < size - offset ? "m" : "l");
	common_write_bytes(reply, data + offset, length < size - offset ? (size_t)length : (size_t)(size - offset));
}

/* text: offset and length of the wanted part. A part at offset 0 makes the document anew. */
static void answer_part(struct dump_gdb_server *server, enum document document, bool has_blocks, const char *text,
			struct ptl_bytes *reply)
{
	const uint64_t key = (uint64_t)document << 56 | (uint64_t)has_blocks << 48 | (uint32_t)request_index(server);

	if (server->xml_key != key || strncmp(text, "0,", 2) == 0) {
		server->xml.size = 0;
		server->xml_key = key;
		make_document(server, document, has_blocks);
	}
	if (server->xml.failed) {
		common_bytes_free(&server->xml);
		server->xml_key = 0;
		common_text_add(reply, ERROR);
		return;
	}
	add_part(server->xml.data, server->xml.size, text, reply);
}

static void answer_target(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	answer_part(server, DOCUMENT_TARGET, false, text, reply);
}

static void answer_threads(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	answer_part(server, DOCUMENT_THREADS, false, text, reply);
}

static void answer_libraries(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	/* Arguments of the request, up to the colon, begin a partial list. The list is always whole. */
	while (*text && *text != ':')
		text++;
	if (*text)
		text++;
	answer_part(server, DOCUMENT_LIBRARIES, false, text, reply);
}

static void answer_settings(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	answer_part(server, DOCUMENT_SETTINGS, false, text, reply);
}

static void answer_blocks(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint64_t *shown = shown_generation(server);

	if (shown)
		*shown = server->model->generation;
	answer_part(server, DOCUMENT_BLOCKS, true, text, reply);
}

/* gdb asks for blocks, if the blocks have changed. */
static void answer_new_blocks(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint64_t *shown = shown_generation(server);
	const bool begins = strncmp(text, "0,", 2) == 0;
	const bool changed = !begins ? server->xml_key >> 48 & 1 : !shown || *shown != server->model->generation;

	if (shown)
		*shown = server->model->generation;
	answer_part(server, DOCUMENT_BLOCKS, changed, text, reply);
}

static void answer_record_blocks(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	server->packets = false;
	forget_shown(server);
	common_text_add(reply, "OK");
}

/* After a refusal, gdb asks for blocks. */
static void answer_record_packets(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);
	struct ptl_bytes packets = {0};

	(void)text;
	server->packets = thread && dump_gdb_packets_make(server->model, thread, &packets);
	forget_shown(server);
	common_text_add(reply, server->packets ? "OK" : ERROR);
	common_bytes_free(&packets);
}

static void answer_program(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const char *path = server->model->program.path;

	/* The request names the process, or none. */
	while (*text && *text != ':')
		text++;
	if (*text && path)
		add_part((const uint8_t *)path, strlen(path), text + 1, reply);
	else
		common_text_add(reply, ERROR);
}

/*
 * The auxiliary vector has the load address of the dynamic linker alone. Without this address, gdb takes the code at
 * the current instruction for the dynamic linker's.
 */
static void answer_vector(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint8_t vector[4 * 8] = {0};

	common_store_le(vector, AT_BASE, 8);
	for (size_t i = 0; i < server->model->library_count; i++)
		if (strncmp(common_base_name(server->model->libraries[i].path), "ld-linux", 8) == 0)
			common_store_le(vector + 8, server->model->libraries[i].bias, 8);
	add_part(vector, sizeof(vector), text, reply);
}

static void answer_signal_info(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const struct dump_gdb_thread *thread = request_thread(server);
	uint8_t info[DUMP_GDB_SIGNAL_INFO_BYTES];

	if (thread && dump_gdb_signal_info(thread, info))
		add_part(info, sizeof(info), text, reply);
	else
		common_text_add(reply, ERROR);
}

static void answer_offsets(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	common_text_format(reply, "Text=%" PRIx64 ";Data=%" PRIx64 ";Bss=%" PRIx64, server->model->program.bias,
			   server->model->program.bias, server->model->program.bias);
}

/* ---- the rest ------------------------------------------------------------------------------------ */

static void answer_features(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	server->processes = strstr(text, "multiprocess+") != NULL;
	common_text_format(reply,
			   "PacketSize=%x;QStartNoAckMode+;multiprocess+;vContSupported+;qXfer:features:read+;"
			   "qXfer:threads:read+;qXfer:exec-file:read+;qXfer:auxv:read+;qXfer:siginfo:read+;qXfer:"
			   "libraries-svr4:read+;"
			   "augmented-libraries-svr4-read+;qXfer:btrace:read+;qXfer:btrace-conf:read+;Qbtrace:bts+;"
			   "Qbtrace:pt+;Qbtrace:off+;Qbtrace-conf:bts:size+",
			   DUMP_GDB_PACKET_MAX);
}

static void answer_no_acks(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)text;
	server->no_acks = true;
	common_text_add(reply, "OK");
}

static void answer_attached(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	(void)server;
	(void)text;
	common_text_add(reply, "1");
}

static void answer_monitor(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	struct ptl_bytes command = {0}, output = {0};

	if (!dump_gdb_read_hex_bytes(text, &command) || command.failed)
		common_text_add(reply, ERROR);
	else
		server->model->monitor(server->model->context, common_text_string(&command), &output);
	if (output.size)
		common_text_hex_bytes(reply, output.data, output.size);
	else if (!reply->size)
		common_text_add(reply, "OK");
	common_bytes_free(&command);
	common_bytes_free(&output);
}

/* The first row that begins the request is the row of the request. */
static const struct {
	const char *prefix;
	void (*answer)(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply);
} requests[] = {
	{"qSupported", answer_features},
	{"QStartNoAckMode", answer_no_acks},
	{"qXfer:features:read:target.xml:", answer_target},
	{"qXfer:threads:read::", answer_threads},
	{"qXfer:libraries-svr4:read:", answer_libraries},
	{"qXfer:exec-file:read:", answer_program},
	{"qXfer:auxv:read::", answer_vector},
	{"qXfer:siginfo:read::", answer_signal_info},
	{"qXfer:btrace:read:all:", answer_blocks},
	{"qXfer:btrace:read:new:", answer_new_blocks},
	{"qXfer:btrace:read:delta:", answer_refusal},
	{"qXfer:btrace-conf:read::", answer_settings},
	{"Qbtrace:pt", answer_record_packets},
	{"Qbtrace:bts", answer_record_blocks},
	{"Qbtrace:", answer_ok},
	{"Qbtrace-conf:", answer_ok},
	{"qAttached", answer_attached},
	{"qC", answer_current},
	{"qfThreadInfo", answer_thread_list},
	{"qsThreadInfo", answer_list_end},
	{"qOffsets", answer_offsets},
	{"qSymbol", answer_ok},
	{"qRcmd,", answer_monitor},
	{"?", answer_stop},
	{"H", answer_select},
	{"T", answer_alive},
	{"g", answer_registers},
	{"p", answer_register},
	{"m", answer_memory},
	{"G", answer_refusal},
	{"P", answer_refusal},
	{"M", answer_refusal},
	{"X", answer_refusal},
	/* gdb itself finds the breakpoints in the blocks. */
	{"Z0", answer_ok},
	{"Z1", answer_ok},
	{"z0", answer_ok},
	{"z1", answer_ok},
	{"vCont?", answer_actions},
	{"vCont", answer_resume},
	{"vFile:", dump_gdb_file_answer},
	{"vKill", answer_end},
	{"c", answer_resume},
	{"C", answer_resume},
	{"s", answer_resume},
	{"S", answer_resume},
	{"D", answer_end},
	{"k", answer_end},
};

void dump_gdb_request_answer(struct dump_gdb_server *server, const char *request, struct ptl_bytes *reply)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const char *text = request;

		if (dump_gdb_read_word(&text, requests[i].prefix)) {
			requests[i].answer(server, text, reply);
			return;
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* XML documents for gdb. */
#include "dump/gdb/document.h"

#include <inttypes.h>

#include "common/text/text.h"
#include "dump/gdb/packets.h"

/* Characters that XML permits. Bytes of broken UTF-8 and control characters become \xNN. */
static void add_attribute(struct ptl_bytes *xml, const char *name, const char *value)
{
	struct ptl_bytes safe = {0};

	common_text_safe(&safe, value);
	common_text_format(xml, " %s=\"", name);
	for (size_t i = 0; i < safe.size; i++) {
		const char character = (char)safe.data[i];

		if (character == '&')
			common_text_add(xml, "&amp;");
		else if (character == '<')
			common_text_add(xml, "&lt;");
		else if (character == '>')
			common_text_add(xml, "&gt;");
		else if (character == '"')
			common_text_add(xml, "&quot;");
		else
			common_write_bytes(xml, &character, 1);
	}
	common_text_add(xml, "\"");
	xml->failed |= safe.failed;
	common_bytes_free(&safe);
}

void dump_gdb_add_thread_id(const struct dump_gdb_model *model, bool processes, uint32_t tid, struct ptl_bytes *text)
{
	if (processes)
		common_text_format(text, "p%" PRIx32 ".", model->pid);
	common_text_format(text, "%" PRIx32, tid);
}

void dump_gdb_target_document(struct ptl_bytes *xml)
{
	common_text_add(xml, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
			     "<target version=\"1.0\"><architecture>i386:x86-64</architecture>"
			     "<osabi>GNU/Linux</osabi></target>");
}

void dump_gdb_threads_document(const struct dump_gdb_model *model, bool processes, struct ptl_bytes *xml)
{
	common_text_add(xml, "<?xml version=\"1.0\"?><threads>");
	for (size_t i = 0; i < model->thread_count; i++) {
		common_text_add(xml, "<thread id=\"");
		dump_gdb_add_thread_id(model, processes, model->threads[i].tid, xml);
		common_text_add(xml, "\"");
		if (model->threads[i].name && *model->threads[i].name)
			add_attribute(xml, "name", model->threads[i].name);
		common_text_add(xml, "/>");
	}
	common_text_add(xml, "</threads>");
}

void dump_gdb_libraries_document(const struct dump_gdb_model *model, struct ptl_bytes *xml)
{
	common_text_add(xml, "<?xml version=\"1.0\"?><library-list-svr4 version=\"1.0\">");
	for (size_t i = 0; i < model->library_count; i++) {
		common_text_add(xml, "<library");
		add_attribute(xml, "name", model->libraries[i].path);
		/* gdb takes the address of the link map for the identity of the library. */
		common_text_format(xml, " lm=\"0x%zx\" l_addr=\"0x%" PRIx64 "\" l_ld=\"0x%" PRIx64 "\" lmid=\"0x0\"/>",
				   i + 1, model->libraries[i].bias, model->libraries[i].dynamic);
	}
	common_text_add(xml, "</library-list-svr4>");
}

static void add_block(struct ptl_bytes *xml, uint64_t begin, uint64_t end)
{
	common_text_add(xml, "<block begin=\"0x");
	common_text_hex(xml, begin);
	common_text_add(xml, "\" end=\"0x");
	common_text_hex(xml, end);
	common_text_add(xml, "\"/>");
}

void dump_gdb_blocks_document(const struct dump_gdb_thread *thread, struct ptl_bytes *xml)
{
	common_text_add(xml, "<btrace version=\"1.0\">");
	/*
	 * gdb takes the last instruction for the one that is next. The next instruction is there twice, so that gdb can
	 * also stand at this instruction within the history.
	 */
	if (thread && thread->count)
		add_block(xml, dump_gdb_thread_pc(thread), dump_gdb_thread_pc(thread));
	if (thread && thread->next)
		add_block(xml, thread->next, thread->next);
	for (size_t i = thread ? thread->count : 0; i > 0; i--) {
		const struct dump_gdb_block *block = &thread->blocks[i - 1];

		/* gdb shows a block that ends before its beginning as a gap. */
		if (block->instructions)
			add_block(xml, block->begin, block->end);
		else
			add_block(xml, 1, 0);
	}
	common_text_add(xml, "</btrace>");
}

void dump_gdb_packets_document(const struct dump_gdb_model *model, const struct dump_gdb_thread *thread,
			       struct ptl_bytes *xml)
{
	struct ptl_bytes packets = {0};

	common_text_add(xml, "<btrace version=\"1.0\">");
	if (thread && thread->count) {
		/* No CPU: libipt then applies no errata. */
		common_text_add(xml, "<pt><pt-config/><raw>");
		xml->failed |= !dump_gdb_packets_make(model, thread, &packets);
		common_text_hex_bytes(xml, packets.data, packets.size);
		common_text_add(xml, "</raw></pt>");
	}
	common_text_add(xml, "</btrace>");
	common_bytes_free(&packets);
}

void dump_gdb_trace_settings_document(bool packets, struct ptl_bytes *xml)
{
	/* gdb's default sizes of a live trace's buffer. The server ignores the size. */
	common_text_format(xml, "<btrace-conf version=\"1.0\"><%s/></btrace-conf>",
			   packets ? "pt size=\"0x4000\"" : "bts size=\"0x10000\"");
}

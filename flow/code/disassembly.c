/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions as text, by Zydis if Zydis knows the instruction. The style is fixed, independent of Zydis' defaults. */
#include "flow/code/disassembly.h"

#include <Zydis/Zydis.h>

#include "common/text/text.h"
#include "flow/code/instruction_encoding.h"
#include "flow/code/instruction_name.h"

static ZydisMachineMode machine_mode(unsigned mode)
{
	switch (mode) {
	case 16:
		return ZYDIS_MACHINE_MODE_LONG_COMPAT_16;
	case 32:
		return ZYDIS_MACHINE_MODE_LONG_COMPAT_32;
	default:
		return ZYDIS_MACHINE_MODE_LONG_64;
	}
}

static ZydisStackWidth stack_width(unsigned mode)
{
	return mode == 16 ? ZYDIS_STACK_WIDTH_16 : mode == 32 ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64;
}

/* Style: lower-case hexadecimal with 0x, without leading zeros. */
static bool start_formatter(ZydisFormatter *formatter)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} style[] = {
		{ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED},
	};

	if (!ZYAN_SUCCESS(ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
		return false;
	for (size_t i = 0; i < sizeof(style) / sizeof(style[0]); i++)
		if (!ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter, style[i].property, style[i].value)))
			return false;
	return true;
}

/* Adds the bytes of an instruction unknown to Zydis, and the instruction's name, if known. */
static void add_bytes(const uint8_t *bytes, size_t size, unsigned mode, struct ptl_bytes *text)
{
	char name[DUMP_INSTRUCTION_NAME_SIZE];
	struct flow_encoding encoding;

	if (flow_encoding_read(bytes, size, mode, &encoding) < 0) {
		common_text_add(text, "(bad)");
		return;
	}
	for (unsigned i = 0; i < encoding.length; i++)
		common_text_format(text, "%s0x%02x", i ? ", " : ".byte ", bytes[i]);
	if (flow_instruction_name(bytes, mode, &encoding, name))
		common_text_format(text, " # %s", name);
}

void flow_disassemble(const uint8_t *bytes, size_t size, unsigned mode, uint64_t ip, struct ptl_bytes *text)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	char words[256];

	if (!start_formatter(&formatter) ||
	    !ZYAN_SUCCESS(ZydisDecoderInit(&decoder, machine_mode(mode), stack_width(mode))) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &instruction, operands)) ||
	    /* CPUs with Intel PT have no MVEX instructions. Such a CPU reads the bits as newer registers. */
	    instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &instruction, operands,
							  instruction.operand_count_visible, words, sizeof(words), ip,
							  ZYAN_NULL)))
		add_bytes(bytes, size, mode, text);
	else
		common_text_add(text, words);
}

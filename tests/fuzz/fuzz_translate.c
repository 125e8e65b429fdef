/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the translator with any bytes as code. Input: u8 options, then code. The software source's instruction decoder
 * must agree with Zydis on lengths and general registers. The translator must not exceed its buffers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "record/software/runtime/instruction.h"
#include "record/software/runtime/translate.h"

#define CODE_MAX 1024u
#define PROGRAM_PC 0x7f1234567000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t code[TRANSLATE_CODE_MAX + TRANSLATE_COLD_MAX];
static struct translate_return_site return_site;
static uint32_t exits;

static uint32_t add_exit(const struct translate_exit *exit)
{
	if (exit->return_site ? exit->return_site != &return_site
			      : exit->site < code || exit->site + 4 > code + sizeof(code))
		abort();
	return exits++;
}

static struct translate_return_site *add_return_site(void)
{
	return &return_site;
}

/* Every call finds the input's bytes at its target, so that some calls lead to linkage stubs. */
static const uint8_t *input;
static size_t input_size;

static size_t read_code(uint64_t pc, uint8_t *bytes, size_t size)
{
	const size_t at = input_size ? (size_t)(pc % input_size) : 0;
	const size_t count = size < input_size - at ? size : input_size - at;

	memcpy(bytes, input + at, count);
	return count;
}

static bool names(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands, unsigned number)
{
	for (unsigned i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		const ZydisRegister registers[] = {
			operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? operand->reg.value : ZYDIS_REGISTER_NONE,
			operand->type == ZYDIS_OPERAND_TYPE_MEMORY ? operand->mem.base : ZYDIS_REGISTER_NONE,
			operand->type == ZYDIS_OPERAND_TYPE_MEMORY ? operand->mem.index : ZYDIS_REGISTER_NONE,
		};

		for (size_t k = 0; k < sizeof(registers) / sizeof(registers[0]); k++)
			if (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, registers[k]) ==
			    (ZydisRegister)(ZYDIS_REGISTER_RAX + number))
				return true;
	}
	return false;
}

/*
 * Returns whether the instruction matters: instructions outside of user mode, or of no current processor, are not
 * translated, so their length is irrelevant.
 */
static bool concerns(const ZydisDecodedInstruction *instruction, const struct instruction *ours)
{
	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_KEYLOCKER:
		return false;
	default:
		break;
	}
	return ours->kind != INSTRUCTION_UNDEFINED && !(instruction->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) &&
	       instruction->meta.isa_ext != ZYDIS_ISA_EXT_KNC && instruction->meta.isa_ext != ZYDIS_ISA_EXT_KNCE &&
	       instruction->meta.isa_ext != ZYDIS_ISA_EXT_KNCV &&
	       instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_MVEX && instruction->opcode != 0x90;
}

static void compare(const ZydisDecoder *decoder, const uint8_t *bytes, size_t size)
{
	ZydisDecodedInstruction theirs;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct instruction ours;
	const bool whole = runtime_instruction_decode(bytes, size, &ours);

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, bytes, size, &theirs, operands)) || !whole ||
	    !concerns(&theirs, &ours))
		return;
	if (theirs.length != ours.length)
		abort();
	for (unsigned number = 8; number < 16; number++)
		if (names(&theirs, operands, number) != runtime_instruction_names(&ours, number))
			abort();
}

static void translate(uint8_t options, const uint8_t *bytes, size_t size)
{
	static struct translate_block block;

	block = (struct translate_block){
		.pc = PROGRAM_PC,
		.bytes = bytes,
		.size = size,
		.code = code,
		.cold = code + TRANSLATE_CODE_MAX,
		.options = {options & 1, options & 2, options & 4, options & 8, options & 16},
		.add_exit = add_exit,
		.add_return_site = add_return_site,
		.return_sites = (const uint8_t *)&return_site,
		.read_code = read_code,
	};
	input = bytes;
	input_size = size;
	exits = 0;
	runtime_translate_block(&block);
	if (block.cut)
		return;
	if (!block.length || block.length > size || block.code_size > TRANSLATE_CODE_MAX ||
	    block.cold_size > TRANSLATE_COLD_MAX || !block.step_count || block.step_count > TRANSLATE_INSTRUCTIONS_MAX)
		abort();
	for (uint32_t i = 1; i < block.step_count; i++)
		if (block.steps[i].code <= block.steps[i - 1].code)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A separate allocation shows reads beyond the end. */
	const size_t count = size > CODE_MAX ? CODE_MAX : size;
	uint8_t *bytes;
	ZydisDecoder decoder;

	if (count < 2)
		return 0;
	bytes = malloc(count - 1);
	if (!bytes)
		abort();
	memcpy(bytes, data + 1, count - 1);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at + 1 < count; at++) {
		compare(&decoder, bytes + at, count - 1 - at);
		translate(data[0], bytes + at, count - 1 - at);
	}
	free(bytes);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the quick scan of instructions, and their classification, with Zydis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "flow/code/instruction.h"
#include "flow/code/instruction_encoding.h"
#include "flow/code/instruction_scan.h"
#include "tests/unit/pt_random.h"

#define ROUNDS 2000000

/* Returns the kind of branch by a full decode. */
static uint8_t branch_by_mnemonic(const ZydisDecodedInstruction *decoded)
{
	/* Aborts of transactions have packets of their own. JKZD and similar instructions exist on no tracing CPU. */
	if (decoded->mnemonic == ZYDIS_MNEMONIC_XBEGIN || decoded->mnemonic == ZYDIS_MNEMONIC_XEND ||
	    decoded->mnemonic == ZYDIS_MNEMONIC_XABORT || decoded->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return FLOW_BRANCH_NONE;
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return FLOW_BRANCH_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return FLOW_BRANCH_FAR_JUMP;
		return decoded->raw.imm[0].is_relative ? FLOW_BRANCH_JUMP : FLOW_BRANCH_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return FLOW_BRANCH_FAR_CALL;
		return decoded->raw.imm[0].is_relative ? FLOW_BRANCH_CALL : FLOW_BRANCH_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return decoded->mnemonic == ZYDIS_MNEMONIC_RET && decoded->meta.branch_type != ZYDIS_BRANCH_TYPE_FAR
			       ? FLOW_BRANCH_RETURN
			       : FLOW_BRANCH_FAR_RETURN;
	default:
		break;
	}
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_VMCALL:
		return FLOW_BRANCH_FAR_CALL;
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return FLOW_BRANCH_FAR_RETURN;
	default:
		return FLOW_BRANCH_NONE;
	}
}

static void compare(const ZydisDecoder *full, const uint8_t bytes[15], unsigned *scanned)
{
	ZydisDecodedInstruction decoded;
	struct flow_instruction instruction;
	struct flow_encoding encoding;
	struct flow_opcode opcode;
	bool valid = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(full, NULL, bytes, 15, &decoded));
	int status = flow_instruction_decode(bytes, 15, 64, 0x401000, &instruction);

	if (flow_instruction_scan(bytes, 15, &opcode)) {
		(*scanned)++;
		assert_true(valid);
	}
	if (!valid) {
		assert_int_equal(status, flow_encoding_read(bytes, 15, 64, &encoding));
		if (status == 0)
			assert_int_equal(instruction.length, encoding.length);
		return;
	}
	assert_int_equal(status, 0);
	assert_int_equal(instruction.length, decoded.length);
	assert_int_equal(instruction.branch, branch_by_mnemonic(&decoded));
	if (instruction.direct)
		assert_int_equal(instruction.target, 0x401000 + decoded.length + (uint64_t)decoded.raw.imm[0].value.s);
}

static void random_bytes(void **state)
{
	static const uint8_t starts[] = {0x66, 0xf2, 0xf3, 0x48, 0x4f, 0x0f, 0x64, 0x40};
	struct pt_random random = pt_random(7);
	unsigned scanned = 0;
	ZydisDecoder full;

	(void)state;
	assert_true(ZYAN_SUCCESS(ZydisDecoderInit(&full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t words[2] = {pt_random_next(&random), pt_random_next(&random)};
		uint8_t bytes[16];
		unsigned prefixes = (unsigned)pt_random_below(&random, 4);

		memcpy(bytes, words, sizeof(bytes));
		for (unsigned j = 0; j < prefixes; j++)
			bytes[j] = starts[pt_random_below(&random, sizeof(starts))];
		compare(&full, bytes, &scanned);
	}
	assert_true(scanned > ROUNDS / 4);
}

/* Compares every opcode of both maps with every ModRM behind each prefix. */
static void all_opcodes(void **state)
{
	static const uint8_t prefixes[] = {0x90, 0x66, 0xf2, 0xf3, 0x64, 0x65, 0x40, 0x48, 0x4f};
	unsigned scanned = 0;
	ZydisDecoder full;

	(void)state;
	assert_true(ZYAN_SUCCESS(ZydisDecoderInit(&full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
	for (unsigned prefix = 0; prefix < sizeof(prefixes); prefix++)
		for (unsigned op = 0; op < 2 * 256 * 256; op++) {
			uint8_t bytes[24] = {prefixes[prefix], 0x0f};
			unsigned at = op >> 16 ? 2 : 1;

			bytes[at] = (uint8_t)(op >> 8);
			bytes[at + 1] = (uint8_t)op;
			memset(bytes + at + 2, 0x25, sizeof(bytes) - at - 2);
			/* without a prefix the NOP is skipped */
			compare(&full, prefix ? bytes : bytes + 1, &scanned);
		}
	assert_true(scanned > 300000);
}

static void short_bytes(void **state)
{
	const uint8_t call[] = {0xe8, 1, 0, 0, 0};
	struct flow_instruction instruction;

	(void)state;
	for (size_t size = 0; size < sizeof(call); size++)
		assert_int_equal(flow_instruction_decode(call, size, 64, 0, &instruction), PTL_TRUNCATED);
	assert_int_equal(flow_instruction_decode(call, sizeof(call), 64, 0, &instruction), 0);
	assert_int_equal(instruction.target, 6);
	assert_int_equal(flow_instruction_decode(call, sizeof(call), 32, 0xffffffff, &instruction), 0);
	assert_int_equal(instruction.target, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_opcodes),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(short_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

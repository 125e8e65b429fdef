/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classifies instructions by opcode. Lengths and fields come from a quick scan, or from Zydis in its minimal mode. If
 * Zydis refuses the instruction, the rules for encodings give the length.
 */
#include "flow/code/instruction.h"

#include <Zydis/Zydis.h>

#include <ptl/error.h>

#include "flow/code/instruction_encoding.h"
#include "flow/code/instruction_scan.h"

#define BY_MODRM 0xffu /* the ModRM byte or a prefix decides, or the instruction is notable */

/* Branches by map and opcode. SDM volume 2, appendix A, tables. */
static const uint8_t branches[2][256] = {
	{
		[0x70 ... 0x7f] = FLOW_BRANCH_CONDITIONAL,
		[0xe0 ... 0xe3] = FLOW_BRANCH_CONDITIONAL, /* LOOPcc, JrCXZ */
		[0xe8] = FLOW_BRANCH_CALL,
		[0xe9] = FLOW_BRANCH_JUMP,
		[0xeb] = FLOW_BRANCH_JUMP,
		[0xc2] = FLOW_BRANCH_RETURN,
		[0xc3] = FLOW_BRANCH_RETURN,
		[0x9a] = FLOW_BRANCH_FAR_CALL,
		[0xa1] = BY_MODRM,
		[0xea] = FLOW_BRANCH_FAR_JUMP,
		[0xca] = FLOW_BRANCH_FAR_RETURN,
		[0xcb] = FLOW_BRANCH_FAR_RETURN,
		[0xcf] = FLOW_BRANCH_FAR_RETURN,        /* IRET */
		[0xcc ... 0xce] = FLOW_BRANCH_FAR_CALL, /* INT3, INT n, INTO */
		[0xf1] = FLOW_BRANCH_FAR_CALL,          /* INT1 */
		[0xff] = BY_MODRM,
	},
	{
		[0x01] = BY_MODRM,
		[0x05] = FLOW_BRANCH_FAR_CALL,   /* SYSCALL */
		[0x07] = FLOW_BRANCH_FAR_RETURN, /* SYSRET */
		[0x22] = BY_MODRM,
		[0x34] = FLOW_BRANCH_FAR_CALL,   /* SYSENTER */
		[0x35] = FLOW_BRANCH_FAR_RETURN, /* SYSEXIT */
		[0x80 ... 0x8f] = FLOW_BRANCH_CONDITIONAL,
		[0xae] = BY_MODRM,
		[0xc7] = BY_MODRM,
	},
};

/* Opcode FF, by ModRM.reg: table A-6, group 5. */
static const uint8_t group_5[8] = {
	[2] = FLOW_BRANCH_CALL_INDIRECT,
	[3] = FLOW_BRANCH_FAR_CALL,
	[4] = FLOW_BRANCH_JUMP_INDIRECT,
	[5] = FLOW_BRANCH_FAR_JUMP,
};

/*
 * Classifies 0F 01 with a register: VMCALL, VMLAUNCH, VMRESUME, which enter or leave a guest as far transfers; UIRET,
 * ERETU, ERETS.
 */
static uint8_t group_7(const struct flow_opcode *opcode)
{
	switch (opcode->modrm) {
	case 0xca: /* ERETU, ERETS; without a prefix: CLAC */
		return opcode->repeat || opcode->repeat_not ? FLOW_BRANCH_FAR_RETURN : FLOW_BRANCH_NONE;
	case 0xec: /* UIRET; without the prefix: no branch */
		return opcode->repeat ? FLOW_BRANCH_FAR_RETURN : FLOW_BRANCH_NONE;
	case 0xc1: /* VMCALL */
		return FLOW_BRANCH_FAR_CALL;
	case 0xc2: /* VMLAUNCH */
	case 0xc3: /* VMRESUME */
		return FLOW_BRANCH_FAR_RETURN;
	default:
		return FLOW_BRANCH_NONE;
	}
}

/* Classifies an instruction whose ModRM byte or prefix decides. */
static uint8_t branch_by_modrm(const struct flow_opcode *opcode)
{
	if (!opcode->map && opcode->opcode == 0xff)
		return group_5[opcode->modrm >> 3 & 7];
	/* JMPABS contains its target, but still sends a TIP, because the instruction may be patched at any time. */
	if (!opcode->map)
		return opcode->rex2 ? FLOW_BRANCH_JUMP_INDIRECT : FLOW_BRANCH_NONE;
	return opcode->opcode == 0x01 ? group_7(opcode) : FLOW_BRANCH_NONE;
}

static bool is_direct(uint8_t branch)
{
	return branch == FLOW_BRANCH_CONDITIONAL || branch == FLOW_BRANCH_JUMP || branch == FLOW_BRANCH_CALL;
}

/* Sets the branch and the notable properties. branch: value of the tables. */
static void classify(const struct flow_opcode *opcode, uint8_t branch, unsigned mode, uint64_t ip,
		     struct flow_instruction *instruction)
{
	unsigned reg = opcode->modrm >> 3 & 7;

	instruction->branch = branch == BY_MODRM ? branch_by_modrm(opcode) : branch;
	/* MOV CR3, r: 0F 22 /3. PTWRITE: F3 0F AE /4. */
	instruction->writes_cr3 = opcode->map && opcode->opcode == 0x22 && reg == 3;
	instruction->ptwrite = opcode->map && opcode->opcode == 0xae && reg == 4 && opcode->repeat;
	/* VMPTRLD: 0F C7 /6 with memory and no prefix; VMLAUNCH, VMRESUME: 0F 01 C2, C3. */
	instruction->enters_guest = opcode->map && opcode->opcode == 0x01 && (opcode->modrm & ~1u) == 0xc2;
	instruction->sets_vmcs = instruction->enters_guest || (opcode->map && opcode->opcode == 0xc7 && reg == 6 &&
							       opcode->modrm < 0xc0 && !opcode->repeat);
	if (!is_direct(instruction->branch))
		return;
	instruction->direct = true;
	instruction->target = ip + opcode->length + (uint64_t)opcode->displacement;
	/* Addresses are linear, and the base of CS is unknown. So addresses in 16-bit code have 32 bits, too. */
	if (mode != 64)
		instruction->target &= 0xffffffff;
}

static int init_decoder(ZydisDecoder *decoder, unsigned mode)
{
	ZydisMachineMode machine = mode == 64   ? ZYDIS_MACHINE_MODE_LONG_64
				   : mode == 32 ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32
						: ZYDIS_MACHINE_MODE_LONG_COMPAT_16;
	ZydisStackWidth width = mode == 64   ? ZYDIS_STACK_WIDTH_64
				: mode == 32 ? ZYDIS_STACK_WIDTH_32
					     : ZYDIS_STACK_WIDTH_16;

	if (ZYAN_FAILED(ZydisDecoderInit(decoder, machine, width)))
		return PTL_UNSUPPORTED;
	return ZYAN_FAILED(ZydisDecoderEnableMode(decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)) ? PTL_UNSUPPORTED
												   : 0;
}

/*
 * Reads an instruction that Zydis refuses by its encoding. An instruction with REX2 is a known instruction. Among other
 * new instructions, only ERETU and ERETS (0F 01) are branches.
 */
static int read_encoding(const uint8_t *bytes, size_t size, unsigned mode, struct flow_opcode *opcode, bool *known)
{
	struct flow_encoding encoding;
	int status = flow_encoding_read(bytes, size, mode, &encoding);

	if (status < 0)
		return status;
	*opcode = (struct flow_opcode){
		.length = encoding.length,
		.map = encoding.map == 1,
		.opcode = encoding.opcode,
		.modrm = encoding.modrm,
		.has_modrm = encoding.has_modrm,
		.repeat = encoding.prefix == 0xf3,
		.repeat_not = encoding.prefix == 0xf2,
		.rex2 = encoding.kind == FLOW_ENCODING_REX2,
	};
	*known = opcode->rex2 || (encoding.kind == FLOW_ENCODING_LEGACY && opcode->map && opcode->opcode == 0x01);
	return 0;
}

/*
 * Decodes with Zydis, and converts the result to the form of the quick scan. Other encodings and maps have no branches.
 */
static int ask_zydis(const uint8_t *bytes, size_t size, unsigned mode, struct flow_opcode *opcode, bool *known)
{
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;
	ZyanStatus status;
	int result = init_decoder(&decoder, mode);

	if (result < 0)
		return result;
	status = ZydisDecoderDecodeInstruction(&decoder, NULL, bytes,
					       size < FLOW_INSTRUCTION_MAX ? size : FLOW_INSTRUCTION_MAX, &decoded);
	if (status == ZYDIS_STATUS_NO_MORE_DATA && size < FLOW_INSTRUCTION_MAX)
		return PTL_TRUNCATED;
	if (ZYAN_FAILED(status))
		return read_encoding(bytes, size, mode, opcode, known);
	*opcode = (struct flow_opcode){
		.length = decoded.length,
		.map = decoded.opcode_map == ZYDIS_OPCODE_MAP_0F,
		.opcode = decoded.opcode,
		.has_modrm = decoded.raw.modrm.offset != 0,
		.displacement = decoded.raw.imm[0].value.s,
	};
	if (opcode->has_modrm)
		opcode->modrm = bytes[decoded.raw.modrm.offset];
	for (unsigned i = 0; i < decoded.raw.prefix_count; i++) {
		opcode->repeat |= decoded.raw.prefixes[i].value == 0xf3;
		opcode->repeat_not |= decoded.raw.prefixes[i].value == 0xf2;
	}
	*known = decoded.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
		 (decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT || opcode->map);
	return 0;
}

int flow_instruction_decode(const uint8_t *bytes, size_t size, unsigned mode, uint64_t ip,
			    struct flow_instruction *instruction)
{
	struct flow_opcode opcode;
	bool known = true;
	uint8_t branch;
	int status = 0;

	if (mode != 64 || !flow_instruction_scan(bytes, size, &opcode))
		status = ask_zydis(bytes, size, mode, &opcode, &known);
	if (status < 0)
		return status;
	*instruction = (struct flow_instruction){.length = opcode.length};
	branch = branches[opcode.map][opcode.opcode];
	if (known && branch)
		classify(&opcode, branch, mode, ip, instruction);
	return 0;
}

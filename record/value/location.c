/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/location.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
#define DWARF_RSP 7
#define DWARF_XMM 17
#define DWARF_XMM_END 33

/* Numbers of general registers by DWARF number. */
static const uint8_t of_dwarf[] = {RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, 8, 9, 10, 11, 12, 13, 14, 15};

void value_step(struct value_steps *steps, enum channel_value_op op, unsigned index, int64_t operand)
{
	struct channel_value_step *last = steps->count ? &steps->list[steps->count - 1] : NULL;

	if (op == CHANNEL_VALUE_ADD && !operand)
		return;
	if (op == CHANNEL_VALUE_ADD && last &&
	    (last->op == CHANNEL_VALUE_ADD || last->op == CHANNEL_VALUE_REGISTER || last->op == CHANNEL_VALUE_IMAGE)) {
		last->operand = (int64_t)((uint64_t)last->operand + (uint64_t)operand);
		return;
	}
	if (steps->count == CHANNEL_VALUE_FIELD_STEPS_MAX) {
		steps->overflow = true;
		return;
	}
	steps->list[steps->count++] = (struct channel_value_step){
		.op = (uint8_t)op, .index = (uint8_t)index, .operand = operand};
}

void value_step_load(struct value_steps *steps, unsigned size)
{
	value_step(steps, CHANNEL_VALUE_LOAD, 0, 0);
	if (!steps->overflow)
		steps->list[steps->count - 1].size = (uint8_t)size;
}

struct value_location value_absent(const char *why)
{
	struct value_location location = {.where = VALUE_ABSENT};

	snprintf(location.why, sizeof(location.why), "%s", why);
	return location;
}

struct value_location value_in_register(unsigned number, enum value_where where)
{
	struct value_location location = {.where = where, .part_count = 1};

	value_step(&location.parts[0].steps, CHANNEL_VALUE_REGISTER, number, 0);
	return location;
}

struct value_location value_in_vector(unsigned number)
{
	struct value_location location = {.where = VALUE_REGISTER, .part_count = 1};

	value_step(&location.parts[0].steps, CHANNEL_VALUE_XMM, number, 0);
	return location;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* An expression at work. The stack has at most one value, which is enough for locations of compilers. */
struct machine {
	const struct value_scope *scope;
	struct value_location location;
	struct value_steps steps;
	bool has_value;   /* the stack has a value */
	bool is_register; /* the value is the content of a register, not an address */
	bool is_value;    /* DW_OP_stack_value */
	unsigned depth;   /* expressions within expressions */
};

static bool run_expression(struct machine *machine, const Dwarf_Op *ops, size_t count);

static bool fail(struct machine *machine, const char *why)
{
	machine->location = value_absent(why);
	return false;
}

/* Starts a value. */
static bool push(struct machine *machine, enum channel_value_op op, unsigned index, int64_t operand)
{
	if (machine->has_value)
		return fail(machine, "its location is too complex");
	value_step(&machine->steps, op, index, operand);
	machine->has_value = true;
	return true;
}

static bool push_register(struct machine *machine, uint64_t number, int64_t offset)
{
	if (number >= sizeof(of_dwarf))
		return fail(machine, "its location depends on a register that is not read");
	return push(machine, CHANNEL_VALUE_REGISTER, of_dwarf[number], offset);
}

static bool take_register(struct machine *machine, uint64_t number)
{
	machine->is_register = true;
	if (number >= DWARF_XMM && number < DWARF_XMM_END)
		return push(machine, CHANNEL_VALUE_XMM, (unsigned)number - DWARF_XMM, 0);
	return push_register(machine, number, 0);
}

/* Pushes the CFA, the stack pointer before the call of the function. */
static bool push_cfa(struct machine *machine)
{
	const struct value_scope *scope = machine->scope;
	bool done = false, pushed = false;

	/* The call has pushed the return address. */
	if (scope->pc == scope->entry)
		return push_register(machine, DWARF_RSP, 8);
	for (unsigned i = 0; i < 2 && !done; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count;

		if (!scope->frames[i] || dwarf_cfi_addrframe(scope->frames[i], scope->pc, &frame) != 0)
			continue;
		done = dwarf_frame_cfa(frame, &ops, &count) == 0 && count;
		pushed = done && run_expression(machine, ops, count);
		free(frame);
	}
	return done ? pushed : fail(machine, "no unwind table describes the frame of its function");
}

/* Computes the CFA of the function's body as a register plus an offset. */
static bool find_body_cfa(const struct value_scope *scope, unsigned *number, int64_t *offset)
{
	bool found = false;

	for (unsigned i = 0; i < 2 && scope->body && !found; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count;

		if (!scope->frames[i] || dwarf_cfi_addrframe(scope->frames[i], scope->body, &frame) != 0)
			continue;
		if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1) {
			found = ops[0].atom == DW_OP_bregx ||
				(ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15);
			*number = ops[0].atom == DW_OP_bregx ? (unsigned)ops[0].number
							     : (unsigned)ops[0].atom - DW_OP_breg0;
			*offset = (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
		}
		free(frame);
	}
	return found;
}

/*
 * Clang counts from the stack pointer, or the frame pointer, of the function's body. Finds memory of the caller's frame,
 * which is at the CFA or above. *offset: of the memory from the CFA.
 */
static bool is_in_caller(const struct machine *machine, const Dwarf_Op *base, int64_t *offset)
{
	int64_t cfa;
	unsigned number;

	if (base->atom < DW_OP_reg0 || base->atom > DW_OP_reg15 || machine->scope->pc != machine->scope->entry ||
	    !find_body_cfa(machine->scope, &number, &cfa) || number != (unsigned)base->atom - DW_OP_reg0 ||
	    *offset < cfa)
		return false;
	*offset -= cfa;
	return true;
}

static bool push_frame_base(struct machine *machine, int64_t offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(machine->scope->function, DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, machine->scope->pc, &ops, &count, 1) != 1 || !count)
		return fail(machine, "its function has no frame base here");
	if (is_in_caller(machine, &ops[0], &offset)) {
		machine->location.in_caller = true;
		return push_register(machine, DWARF_RSP, 8 + offset);
	}
	if (ops[0].atom == DW_OP_call_frame_cfa && offset >= 0)
		machine->location.in_caller = true;
	else
		machine->location.in_frame = true;
	if (!run_expression(machine, ops, count))
		return false;
	/* A register as frame base is a base address. */
	machine->is_register = false;
	value_step(&machine->steps, CHANNEL_VALUE_ADD, 0, offset);
	return true;
}

/* Ends a part of the location. size: 0 for all bytes. */
static bool end_part(struct machine *machine, uint64_t size)
{
	struct value_location *location = &machine->location;
	struct value_part *part = &location->parts[location->part_count];
	const bool in_register = machine->is_register || machine->is_value;

	if (!machine->has_value)
		return fail(machine, "a part of it is optimized out");
	if (location->part_count == VALUE_PARTS_MAX || size > UINT32_MAX || (size && !in_register && size > 8))
		return fail(machine, "its location is too complex");
	part->size = (uint32_t)size;
	part->steps = machine->steps;
	if (size && !in_register)
		value_step_load(&part->steps, (unsigned)size);
	location->where = size || in_register ? VALUE_REGISTER : VALUE_MEMORY;
	location->part_count++;
	machine->steps = (struct value_steps){0};
	machine->has_value = machine->is_register = machine->is_value = false;
	return true;
}

/* At the entry, a register still has the entry value. */
static bool push_entry_value(struct machine *machine, const Dwarf_Op *op, Dwarf_Attribute *attribute)
{
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	size_t count;

	if (machine->scope->pc != machine->scope->entry || !attribute ||
	    dwarf_getlocation_attr(attribute, op, &inner) != 0 || dwarf_getlocation(&inner, &ops, &count) != 0)
		return fail(machine, "optimized out (the caller may know it)");
	if (!run_expression(machine, ops, count))
		return false;
	machine->is_register = false;
	return true;
}

/* Pushes an address of the unit's table of addresses. */
static bool push_indexed(struct machine *machine, const Dwarf_Op *op, Dwarf_Attribute *attribute)
{
	Dwarf_Attribute indexed;
	Dwarf_Addr address;

	if (!attribute || dwarf_getlocation_attr(attribute, op, &indexed) != 0 ||
	    dwarf_formaddr(&indexed, &address) != 0)
		return fail(machine, "its address is not in the file");
	return push(machine, CHANNEL_VALUE_IMAGE, 0, (int64_t)address);
}

/* Converts the value to an integer type. */
static bool convert(struct machine *machine, const Dwarf_Op *op, Dwarf_Attribute *attribute)
{
	Dwarf_Attribute size_attribute, encoding_attribute;
	Dwarf_Word size, encoding;
	Dwarf_Die type;

	if (!machine->has_value || !attribute)
		return fail(machine, "its location is too complex");
	if (!op->number)
		return true;
	if (dwarf_getlocation_die(attribute, op, &type) != 0 || !dwarf_attr(&type, DW_AT_byte_size, &size_attribute) ||
	    dwarf_formudata(&size_attribute, &size) != 0 || !dwarf_attr(&type, DW_AT_encoding, &encoding_attribute) ||
	    dwarf_formudata(&encoding_attribute, &encoding) != 0 || encoding == DW_ATE_float || !size || size > 8)
		return fail(machine, "its location is too complex");
	if (size == 8)
		return true;
	value_step(&machine->steps, CHANNEL_VALUE_LEFT, 0, 64 - 8 * (int64_t)size);
	value_step(&machine->steps, encoding == DW_ATE_signed ? CHANNEL_VALUE_SIGNED : CHANNEL_VALUE_RIGHT, 0,
		   64 - 8 * (int64_t)size);
	return true;
}

static bool step_of(struct machine *machine, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
		return push(machine, CHANNEL_VALUE_IMAGE, 0, (int64_t)op->number);
	case DW_OP_regx:
		return take_register(machine, op->number);
	case DW_OP_bregx:
		return push_register(machine, op->number, (int64_t)op->number2);
	case DW_OP_fbreg:
		return push_frame_base(machine, (int64_t)op->number);
	case DW_OP_call_frame_cfa:
		return push_cfa(machine);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(machine, CHANNEL_VALUE_CONSTANT, 0, (int64_t)op->number);
	case DW_OP_plus_uconst:
		value_step(&machine->steps, CHANNEL_VALUE_ADD, 0, (int64_t)op->number);
		return true;
	case DW_OP_deref:
		value_step_load(&machine->steps, 8);
		return true;
	case DW_OP_deref_size:
		value_step_load(&machine->steps, op->number <= 8 ? (unsigned)op->number : 8);
		return true;
	case DW_OP_stack_value:
		machine->is_value = true;
		return true;
	case DW_OP_piece:
		return end_part(machine, op->number);
	case DW_OP_nop:
		return true;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return fail(machine, "thread-local variables are not read");
	case DW_OP_GNU_parameter_ref:
	case DW_OP_GNU_variable_value:
		return fail(machine, "optimized out (the caller may know it)");
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return fail(machine, "optimized out (the object that it points to is not in memory)");
	default:
		break;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return take_register(machine, op->atom - DW_OP_reg0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(machine, op->atom - DW_OP_breg0, (int64_t)op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(machine, CHANNEL_VALUE_CONSTANT, 0, op->atom - DW_OP_lit0);
	return fail(machine, "its location is too complex");
}

/* Keeps the lowest bits of the value, if the mask is of lowest bits. */
static bool keep_bits(struct machine *machine, uint64_t mask)
{
	const int64_t unused = mask ? __builtin_clzll(mask) : 64;

	if (!mask || mask & (mask + 1))
		return fail(machine, "its location is too complex");
	value_step(&machine->steps, CHANNEL_VALUE_LEFT, 0, unused);
	value_step(&machine->steps, CHANNEL_VALUE_RIGHT, 0, unused);
	return true;
}

static bool run_with(struct machine *machine, const Dwarf_Op *ops, size_t count, Dwarf_Attribute *attribute)
{
	bool done = true;

	if (machine->depth++ == 4)
		return fail(machine, "its location is too complex");
	for (size_t i = 0; done && i < count; i++)
		switch (ops[i].atom) {
		case DW_OP_entry_value:
		case DW_OP_GNU_entry_value:
			done = push_entry_value(machine, &ops[i], attribute);
			break;
		case DW_OP_constu:
			if (machine->has_value && i + 1 < count && ops[i + 1].atom == DW_OP_and)
				done = keep_bits(machine, ops[i++].number);
			else
				done = step_of(machine, &ops[i]);
			break;
		case DW_OP_addrx:
		case DW_OP_GNU_addr_index:
			done = push_indexed(machine, &ops[i], attribute);
			break;
		case DW_OP_convert:
		case DW_OP_GNU_convert:
			done = convert(machine, &ops[i], attribute);
			break;
		default:
			done = step_of(machine, &ops[i]);
			break;
		}
	machine->depth--;
	return done;
}

static bool run_expression(struct machine *machine, const Dwarf_Op *ops, size_t count)
{
	return run_with(machine, ops, count, NULL);
}

static struct value_location locate(const struct value_scope *scope, const Dwarf_Op *ops, size_t count,
				    Dwarf_Attribute *attribute)
{
	struct machine machine = {.scope = scope};

	if (!count)
		return value_absent("optimized out");
	if (run_with(&machine, ops, count, attribute) && (machine.has_value || !machine.location.part_count))
		(void)end_part(&machine, 0);
	for (unsigned i = 0; i < machine.location.part_count; i++)
		if (machine.location.parts[i].steps.overflow)
			return value_absent("its location is too complex");
	return machine.location;
}

static struct value_location constant(Dwarf_Attribute *attribute)
{
	struct value_location location = {.where = VALUE_REGISTER, .part_count = 1};
	Dwarf_Sword number;

	if (dwarf_formsdata(attribute, &number) != 0)
		return value_absent("its constant is not read");
	value_step(&location.parts[0].steps, CHANNEL_VALUE_CONSTANT, 0, number);
	return location;
}

bool value_is_list(Dwarf_Attribute *attribute)
{
	switch (dwarf_whatform(attribute)) {
	case DW_FORM_exprloc:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
		return false;
	default:
		return true;
	}
}

struct value_location value_locate(const struct value_scope *scope, Dwarf_Die *die, bool *listed)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;
	int found;

	*listed = false;
	if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
		return constant(&attribute);
	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute))
		return value_absent("optimized out");
	*listed = value_is_list(&attribute);
	found = dwarf_getlocation_addr(&attribute, scope->pc, &ops, &count, 1);
	return found == 1 ? locate(scope, ops, count, &attribute) : value_absent("optimized out");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines of the inputs: numbers the machines, aligns their clocks, and keeps ids of processes, threads and CPUs apart
 * (docs/format.md 13).
 */
#include "format/relogger/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/reader/parts.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/part.h"
#include "format/relogger/relogger_internal.h"

/* --- identity of machines ------------------------------------------------------------------------------ */

static bool has_clock(const struct ptl_machine *machine)
{
	return machine->clock != PTL_CLOCK_VIRTUAL && machine->clock != PTL_CLOCK_NONE;
}

/* Returns the wall time at which the clock showed 0. */
static int64_t wall_zero(const struct ptl_machine *machine)
{
	return (int64_t)((uint64_t)machine->wall_start - machine->start_time);
}

/* Clears the members that differ between parts of one trace. */
static void forget_part(struct ptl_machine *machine)
{
	machine->start_time = machine->end_time = 0;
	machine->wall_start = 0;
	machine->index = 0;
	machine->redacted = false;
	machine->hostname[0] = '\0';
}

/* Whether the records differ at most as parts of one trace do. */
static bool is_alike(const struct ptl_machine *a, const struct ptl_machine *b)
{
	struct ptl_machine x = *a, y = *b;

	forget_part(&x);
	forget_part(&y);
	return memcmp(&x, &y, sizeof(x)) == 0;
}

/*
 * Whether both records come from parts or copies of one trace, which have exactly the same relation of clock and wall
 * time.
 */
static bool is_same_record(const struct ptl_machine *a, const struct ptl_machine *b)
{
	return a->wall_start && wall_zero(a) == wall_zero(b) && is_alike(a, b);
}

/* Whether process ids have the same meaning. In doubt, machines are kept apart. */
static bool is_same_machine(const struct ptl_machine *a, const struct ptl_machine *b)
{
	if (a->boot_id[0] && b->boot_id[0])
		return strcmp(a->boot_id, b->boot_id) == 0 && a->pid_namespace == b->pid_namespace;
	return is_same_record(a, b);
}

/* Whether times have the same meaning. */
static bool is_same_clock(const struct ptl_machine *a, const struct ptl_machine *b)
{
	if (is_same_record(a, b))
		return true;
	return has_clock(a) && a->clock == b->clock && a->boot_id[0] && strcmp(a->boot_id, b->boot_id) == 0;
}

/* Whether no other machine of the input has such a record. */
static bool is_unique(const struct ptl_relogger_input *input, size_t index)
{
	const struct ptl_machine *machine = ptl_machine_at(input->trace, index);

	for (size_t i = 0; i < ptl_machine_count(input->trace); i++)
		if (i != index && ptl_machine_at(input->trace, i) && is_alike(ptl_machine_at(input->trace, i), machine))
			return false;
	return true;
}

/*
 * Whether both inputs are parts of the same recordings, in which this index is the same machine. Without a wall clock, only
 * the names of the recordings tell.
 */
static bool is_same_part(const struct ptl_relogger_input *a, const struct ptl_relogger_input *b, size_t index)
{
	const struct ptl_machine *x = ptl_machine_at(a->trace, index), *y = ptl_machine_at(b->trace, index);

	return format_parts_are_same_recordings(&a->parts, &b->parts) &&
	       ptl_machine_count(a->trace) == ptl_machine_count(b->trace) && x && y && !x->wall_start &&
	       !y->wall_start && x->start_time == y->start_time && is_alike(x, y) && is_unique(a, index) &&
	       is_unique(b, index);
}

/* Returns the first input before this input in which the machine with the index is the same; NULL: none. */
static const struct ptl_relogger_input *find_same_part(const struct ptl_relogger_input *input, size_t index)
{
	size_t i = 0;

	while (i < input->number && !is_same_part(input->relogger->inputs[i], input, index))
		i++;
	return i < input->number ? input->relogger->inputs[i] : NULL;
}

/* --- clocks ------------------------------------------------------------------------------------------- */

/*
 * Returns the uncertainty of a clock's relation to wall time. A clock that counts instructions relates to wall time
 * only at its start.
 */
static uint64_t own_uncertainty(const struct ptl_machine *machine)
{
	const uint64_t length = machine->end_time > machine->start_time ? machine->end_time - machine->start_time : 0;

	return machine->wall_uncertainty + (has_clock(machine) ? 0 : length);
}

bool format_relogger_shares_clock(const struct ptl_relogger_input *input)
{
	return input->number == 0 || is_same_part(input->relogger->inputs[0], input, 0) ||
	       is_same_clock(ptl_trace_machine(input->relogger->inputs[0]->trace), ptl_trace_machine(input->trace));
}

void format_relogger_relate(struct ptl_relogger_input *input, const struct format_clock_relation *relation)
{
	input->clock.relation = *relation;
}

void format_relogger_name_machine(struct ptl_relogger_input *input, const char *name)
{
	input->machines.stated = name;
}

/* Aligns the clock by wall time. *known: both wall times are known. */
static void align_by_wall(const struct ptl_relogger *relogger, struct ptl_relogger_input *input, bool *known)
{
	const struct ptl_machine *first = ptl_trace_machine(relogger->inputs[0]->trace);
	const struct ptl_machine *own = ptl_trace_machine(input->trace);

	*known = first->wall_start && own->wall_start;
	input->clock.shift = *known ? (int64_t)((uint64_t)wall_zero(own) - (uint64_t)wall_zero(first)) : 0;
	input->clock.uncertainty = *known ? own_uncertainty(first) + own_uncertainty(own) : UINT64_MAX;
}

static int align_by_hand(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct format_clock_relation *relation = &input->clock.relation;
	bool known;

	if (format_relogger_shares_clock(input))
		return common_fail(PTL_MISUSE, "%s: its clock is that of %s, and cannot be related by hand",
				   input->name, relogger->inputs[0]->name);
	align_by_wall(relogger, input, &known);
	if (!relation->relative)
		input->clock.shift = 0;
	if (__builtin_add_overflow(input->clock.shift, relation->shift, &input->clock.shift))
		return common_fail(PTL_MISUSE, "%s: the offset of its clock is too large", input->name);
	input->clock.uncertainty = relation->uncertainty;
	format_relogger_warn(relogger, "%s: its clock is related to that of %s by hand: %+.9f s", input->name,
			     relogger->inputs[0]->name, (double)input->clock.shift / 1e9);
	return 0;
}

static int align(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_machine *first = ptl_trace_machine(relogger->inputs[0]->trace);
	const struct ptl_machine *own = ptl_trace_machine(input->trace);
	const struct ptl_relogger_input *part;
	bool known;

	if (input->clock.relation.given)
		return align_by_hand(relogger, input);
	if (format_relogger_shares_clock(input))
		return 0;
	part = find_same_part(input, 0);
	if (part) {
		input->clock.shift = part->clock.shift;
		input->clock.uncertainty = part->clock.uncertainty;
		return 0;
	}
	align_by_wall(relogger, input, &known);
	if (known)
		format_relogger_warn(relogger,
				     "%s: its clock is aligned with that of %s by wall time: %+.9f s, uncertain by "
				     "%.9f s%s",
				     input->name, relogger->inputs[0]->name, (double)input->clock.shift / 1e9,
				     (double)input->clock.uncertainty / 1e9,
				     has_clock(first) && has_clock(own) ? "" : " (a clock counts instructions)");
	else
		format_relogger_warn(relogger,
				     "%s: nothing shows how its clock relates to that of %s: its times are kept",
				     input->name, relogger->inputs[0]->name);
	return 0;
}

/* Returns the earliest time in an input. */
static int64_t earliest(const struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	uint64_t time = ptl_trace_machine(trace)->start_time ? ptl_trace_machine(trace)->start_time : UINT64_MAX;

	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->last_time && ptl_stream_at(trace, i)->first_time < time)
			time = ptl_stream_at(trace, i)->first_time;
	return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

/* Shifts the times of all inputs, also the first input's, if a time would fall below 0. */
static void keep_positive(struct ptl_relogger *relogger)
{
	int64_t lowest = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];
		const int64_t first = earliest(input);

		if (input->clock.shift < 0 && first < INT64_MAX && first + input->clock.shift - 1 < lowest)
			lowest = first + input->clock.shift - 1;
	}
	for (size_t i = 0; lowest && i < relogger->input_count; i++)
		relogger->inputs[i]->clock.shift -= lowest;
}

/* --- numbering ---------------------------------------------------------------------------------------- */

/* Extends a machine that several inputs share to the range from the first start to the last end. */
static void extend(struct ptl_machine *machine, struct ptl_machine part, bool *extended)
{
	if (part.end_time > machine->end_time) {
		machine->end_time = part.end_time;
		*extended = true;
	}
	if (part.start_time < machine->start_time) {
		if (machine->wall_start)
			machine->wall_start -= (int64_t)(machine->start_time - part.start_time);
		machine->start_time = part.start_time;
		*extended = true;
	}
}

static int find_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine, uint16_t *index)
{
	size_t i = 0;

	while (i < relogger->machines.count && !is_same_machine(&relogger->machines.all[i], machine))
		i++;
	*index = (uint16_t)i;
	if (i < relogger->machines.count)
		return 0;
	if (i > PTL_MACHINE_MAX)
		return common_fail(PTL_MISUSE, "traces of more than %u machines", PTL_MACHINE_MAX + 1);
	if (!common_vector_room(&relogger->machines.all, i, sizeof(*relogger->machines.all)))
		return common_fail_memory("machines", i * sizeof(*machine));
	relogger->machines.all[relogger->machines.count++] = *machine;
	return 0;
}

/* Adapts a machine record to the output's clock and index. */
static void take_machine(const struct ptl_relogger_input *input, uint16_t index, struct ptl_machine *machine)
{
	machine->index = index;
	if (machine->start_time)
		machine->start_time += (uint64_t)input->clock.shift;
	if (machine->end_time)
		machine->end_time += (uint64_t)input->clock.shift;
	if (machine->tsc_multiplier)
		machine->tsc_zero += (uint64_t)input->clock.shift;
	machine->time_shift += input->clock.shift;
	if (machine->shift_uncertainty > UINT64_MAX - input->clock.uncertainty)
		machine->shift_uncertainty = UINT64_MAX;
	else
		machine->shift_uncertainty += input->clock.uncertainty;
}

/* Returns how many recordings a trace was made from: the number of history steps without inputs. */
static size_t recordings_of(const struct ptl_trace *trace)
{
	size_t recordings = 0, read = 0;

	for (size_t i = 0; i < ptl_provenance_count(trace); i++) {
		const size_t inputs = ptl_provenance_at(trace, i)->inputs;

		recordings += inputs == 0;
		read += inputs;
	}
	recordings = recordings ? recordings : read;
	return recordings ? recordings : 1;
}

/*
 * Numbers the recording of an input. Process keys of different recordings could collide and get different prefixes;
 * parts of one recording share their keys.
 */
static void find_recording(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	size_t i = 0;

	while (i < input->number && !is_same_part(relogger->inputs[i], input, 0) &&
	       !is_same_record(ptl_trace_machine(relogger->inputs[i]->trace), ptl_trace_machine(input->trace)))
		i++;
	input->machines.recording = i < input->number ? relogger->inputs[i]->machines.recording
						      : relogger->machines.recordings;
	if (i == input->number)
		relogger->machines.recordings += recordings_of(input->trace);
}

static int number_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const size_t count = ptl_machine_count(input->trace);
	int status = 0;

	input->machines.indexes = calloc(count, sizeof(*input->machines.indexes));
	if (!input->machines.indexes)
		return common_fail_memory("machines", count * sizeof(*input->machines.indexes));
	input->machines.count = count;
	for (size_t i = 0; !status && i < count; i++) {
		const struct ptl_machine *machine = ptl_machine_at(input->trace, i);
		const struct ptl_relogger_input *part = find_same_part(input, i);
		const size_t before = relogger->machines.count;
		struct ptl_machine changed;

		if (!machine)
			continue;
		if (part)
			input->machines.indexes[i] = part->machines.indexes[i];
		else
			status = find_machine(relogger, machine, &input->machines.indexes[i]);
		if (status)
			break;
		changed = *machine;
		take_machine(input, input->machines.indexes[i], &changed);
		if (relogger->machines.count > before)
			relogger->machines.all[before] = changed;
		else
			extend(&relogger->machines.all[input->machines.indexes[i]], changed,
			       &relogger->machines.written);
		input->machines.renumbered |= input->machines.indexes[i] != i;
	}
	input->machines.first = input->machines.indexes[0];
	if (!status && input->machines.stated) {
		struct ptl_machine *named = &relogger->machines.all[input->machines.first];

		snprintf(named->hostname, sizeof(named->hostname), "%s", input->machines.stated);
		relogger->machines.written = true;
	}
	find_recording(relogger, input);
	input->ids.changed = input->machines.renumbered || input->machines.recording > 0;
	return status;
}

int format_relogger_find_machines(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++) {
		format_relogger_find_identity(relogger->inputs[i]);
		status = format_relogger_find_own_parts(relogger->inputs[i]);
	}
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = align(relogger, relogger->inputs[i]);
	keep_positive(relogger);
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = number_input(relogger, relogger->inputs[i]);
	relogger->machines.written |= relogger->machines.count > 1 || relogger->inputs[0]->clock.shift;
	return status;
}

/* Machine 0 is last, as old readers with only one machine use the last record. */
int format_relogger_write_machines(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = relogger->machines.count; !status && i-- > 1;)
		status = ptl_writer_machine(relogger->writer, &relogger->machines.all[i]);
	if (!status && relogger->machines.has_stated)
		return ptl_writer_machine(relogger->writer, &relogger->machines.stated);
	if (!status && relogger->machines.written)
		status = ptl_writer_machine(relogger->writer, &relogger->machines.all[0]);
	return status;
}

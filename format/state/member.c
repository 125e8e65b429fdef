/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes of a state. */
#include "format/state/state_internal.h"

struct common_rows format_state_member_rows(const struct ptl_state *state)
{
	return (struct common_rows){state->members, sizeof(*state->members), sizeof(state->members->fold.pid)};
}

struct format_state_member *format_state_member(const struct ptl_state *state, uint32_t pid)
{
	const struct common_rows rows = format_state_member_rows(state);
	const uint32_t row = common_row_index_find(&state->by_pid, &rows, &pid);

	return row == COMMON_NO_ROW ? NULL : &state->members[row];
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes of events, and decides about the memory of forked processes. */
#include "format/state/fold.h"

int format_fold_decide(struct format_fold *fold, struct format_fold_process *process)
{
	if (!process->undecided)
		return 0;
	process->undecided = false;
	return fold->listener->spaces->inherits(fold->context, process);
}

int format_fold_need(struct format_fold *fold, uint32_t pid, struct format_fold_process **process)
{
	*process = fold->listener->processes->find(fold->context, pid);
	if (!*process)
		return fold->listener->processes->add(fold->context, pid, process);
	if ((*process)->ended && fold->listener->forgets_ended)
		*process = NULL;
	return 0;
}

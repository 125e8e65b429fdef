/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump: shows the contents of trace files. This file has the table of its commands. */
#include "dump/command/commands.h"
#include "dump/command/program.h"

static const struct dump_command *const commands[] = {
	&dump_command_info,
	&dump_command_crash,
	&dump_command_processes,
	&dump_command_images,
	&dump_command_events,
	&dump_command_cpu,
	&dump_command_io,
	&dump_command_packets,
	&dump_command_flow,
	&dump_command_stats,
	&dump_command_calls,
	&dump_command_report,
	&dump_command_graph,
	&dump_command_latency,
	&dump_command_why,
#ifdef DUMP_CURSES
	&dump_command_browse,
#endif
	&dump_command_annotate,
	&dump_command_gdb,
	&dump_command_serve,
	&dump_command_diff,
	&dump_command_lint,
	&dump_command_verify,
	&dump_command_merge_parts,
	/* Exports. */
	&dump_command_coverage,
	&dump_command_html,
	&dump_command_open,
	&dump_command_table,
	&dump_command_sqlite,
	&dump_command_perf,
	&dump_command_ctf,
	&dump_command_pcapng,
	&dump_command_flamegraph,
	&dump_command_speedscope,
	&dump_command_timeline,
	&dump_command_pprof,
	&dump_command_callgrind,
	&dump_command_autofdo,
	&dump_command_bolt,
	NULL,
};

static const char examples[] = "ptl-dump info build.ptl                        what this file is\n"
			       "ptl-dump processes build.ptl                   who ran, with times and command lines\n"
			       "ptl-dump flow --pid 4711 build.ptl             what a process executed, in order\n"
			       "ptl-dump flow --level insn --time 1ms..2ms build.ptl | less\n"
			       "ptl-dump stats --json build.ptl                counts, for programs to read\n"
			       "ptl-dump flow --help                           the options of one command";

int main(int argc, char **argv)
{
	return dump_program_main(commands, examples, argc, argv);
}

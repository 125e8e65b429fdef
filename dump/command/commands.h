/* SPDX-License-Identifier: BSD-2-Clause */
/* All commands of ptl-dump. A command and its file have the same name. */
#ifndef DUMP_COMMAND_COMMANDS_H
#define DUMP_COMMAND_COMMANDS_H

#include "dump/run/command.h"

extern const struct dump_command dump_command_info;
extern const struct dump_command dump_command_crash;
extern const struct dump_command dump_command_processes;
extern const struct dump_command dump_command_images;
extern const struct dump_command dump_command_events;
extern const struct dump_command dump_command_packets;
extern const struct dump_command dump_command_flow;
extern const struct dump_command dump_command_stats;
extern const struct dump_command dump_command_annotate;
extern const struct dump_command dump_command_coverage;
extern const struct dump_command dump_command_table;
extern const struct dump_command dump_command_sqlite;
extern const struct dump_command dump_command_perf;
extern const struct dump_command dump_command_ctf;
extern const struct dump_command dump_command_pcapng;
extern const struct dump_command dump_command_cpu;
extern const struct dump_command dump_command_io;
extern const struct dump_command dump_command_diff;
extern const struct dump_command dump_command_lint;
extern const struct dump_command dump_command_merge_parts;
extern const struct dump_command dump_command_verify;
extern const struct dump_command dump_command_calls;
extern const struct dump_command dump_command_report;
extern const struct dump_command dump_command_graph;
extern const struct dump_command dump_command_latency;
extern const struct dump_command dump_command_why;
extern const struct dump_command dump_command_browse; /* only with ncurses */
extern const struct dump_command dump_command_gdb;
extern const struct dump_command dump_command_serve;
extern const struct dump_command dump_command_html;
extern const struct dump_command dump_command_open;
extern const struct dump_command dump_command_flamegraph;
extern const struct dump_command dump_command_speedscope;
extern const struct dump_command dump_command_timeline;
extern const struct dump_command dump_command_pprof;
extern const struct dump_command dump_command_callgrind;
extern const struct dump_command dump_command_autofdo;
extern const struct dump_command dump_command_bolt;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Contains the script of a flame graph, flamegraph.js. */
#include "dump/export/flame/flamegraph.h"

__asm__(".pushsection .rodata\n"
	".globl dump_flame_script\n"
	"dump_flame_script:\n"
	".incbin \"dump/export/flame/flamegraph.js\"\n"
	".byte 0\n"
	".popsection\n");

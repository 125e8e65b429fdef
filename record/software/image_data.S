/* SPDX-License-Identifier: BSD-2-Clause */
/* RUNTIME_FILE: the linked runtime, a string. */
	.section .rodata
	.balign 16
	.globl software_image_begin, software_image_end
	.hidden software_image_begin, software_image_end
software_image_begin:
	.incbin RUNTIME_FILE
software_image_end:
	.byte 0

	.section .note.GNU-stack, "", @progbits
